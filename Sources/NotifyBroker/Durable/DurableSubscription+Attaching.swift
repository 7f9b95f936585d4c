import NotifyLog
import NotifyWire

/// Whether a client may attach.
extension DurableSubscription {
    enum AttachDecision: Equatable {
        /// The client becomes the only member, or another one.
        case free
        /// The attachments of other connections end first.
        case takeOver(from: [Attachment])
        case refused(WireError, holderPID: UInt32)
    }

    /// Decides whether a client may attach on a connection.
    func attachRequested(
        by instance: InstanceID, on connection: ConnectionID, filter: SubscriptionFilter,
        sharing: DurableSharing = .exclusive, takesOver: Bool = false
    ) -> AttachDecision {
        guard self.filter == filter else {
            return .refused(mismatch(with: filter), holderPID: 0)
        }
        if state == .removing {
            return .refused(
                WireError(.subscriptionInUse, "durable subscription '\(name)' is being removed"), holderPID: 0)
        }
        if isSharingPending {
            return .refused(
                WireError(
                    .subscriptionInUse, "durable subscription '\(name)' is being changed; try again later"),
                holderPID: 0)
        }
        guard sharing == settings.sharing else {
            return takesOver ? takeOver(from: Array(members.all)) : refused(sharing)
        }
        switch sharing {
        case .group:
            // A client has one connection at a time. Its members on an earlier one have ended.
            return takeOver(from: members.members(of: instance, notOn: connection))
        case .exclusive:
            guard let member = firstMember else { return .free }
            return decision(by: instance, on: connection, holder: member, takesOver: takesOver)
        }
    }

    private func decision(
        by instance: InstanceID, on connection: ConnectionID, holder: Member, takesOver: Bool
    ) -> AttachDecision {
        let attachment = holder.attachment
        guard attachment.connection != connection else {
            return .refused(
                WireError(
                    .subscriptionInUse,
                    "durable subscription '\(name)' is attached on this connection: detach it first"),
                holderPID: attachment.pid)
        }
        guard attachment.instance == instance || takesOver else {
            return .refused(
                WireError(
                    .subscriptionHeld,
                    "durable subscription '\(name)' is held by process \(attachment.pid): end it first, or take the "
                        + "subscription over with --takeover"),
                holderPID: attachment.pid)
        }
        return takeOver(from: [holder])
    }

    private func takeOver(from members: [Member]) -> AttachDecision {
        members.isEmpty ? .free : .takeOver(from: members.map(\.attachment))
    }

    /// Refuses a client that would share the subscription in another way.
    private func refused(_ sharing: DurableSharing) -> AttachDecision {
        let pid = firstMember?.attachment.pid ?? 0
        let holder =
            switch members.count {
            case 0: "no client is attached now"
            case 1: "process \(pid) is attached"
            case let count: "process \(pid) and \(count - 1) more are attached"
            }
        let text =
            switch sharing {
            case .exclusive:
                "durable subscription '\(name)' is shared by a group (\(holder)): join the group with --group, or take it "
                    + "over with --takeover"
            case .group:
                "durable subscription '\(name)' is not shared by a group (\(holder)): make it one with --group --takeover"
            }
        return .refused(
            WireError(members.isEmpty ? .subscriptionMismatch : .subscriptionHeld, text), holderPID: pid)
    }
}
