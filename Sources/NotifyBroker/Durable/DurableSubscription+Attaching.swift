import NotifyCenter
import NotifyLog
import NotifyWire

/// The decision whether a client may attach.
extension DurableSubscription {
    enum AttachDecision: Equatable {
        /// The client becomes the only member, or a further member of a group.
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
            return takesOver ? takeOver(from: Array(_members.all)) : refused(sharing)
        }
        switch sharing {
        case .group:
            // A client has one connection at a time, so its members on other connections are outdated.
            return takeOver(from: _members.members(of: instance, notOn: connection))
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

    /// Refuses a client that requests another sharing of the subscription.
    private func refused(_ sharing: DurableSharing) -> AttachDecision {
        let pid = firstMember?.attachment.pid ?? 0
        let holder =
            switch _members.count {
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
            WireError(_members.isEmpty ? .subscriptionMismatch : .subscriptionHeld, text), holderPID: pid)
    }

    // MARK: Other patterns or another object

    /// The maximum sizes of the patterns and the object in the error message, in bytes.
    private static let shownPatternBytes = 140
    private static let shownObjectBytes = 60

    /// An error that describes how the subscription differs, and how to attach without losing its backlog. An edit can
    /// replace the patterns, but the object can't be changed.
    func mismatch(with requested: SubscriptionFilter) -> WireError {
        let patterns = "other patterns, \(shownPatterns)"
        let object =
            filter.object.map { "another object, '\(Self.clipped($0, to: Self.shownObjectBytes))'" } ?? "no object"
        let advice =
            switch (filter.patterns == requested.patterns, filter.object == requested.object) {
            case (false, true):
                "\(patterns): use those, or replace them with 'notifyctl durable edit \(name) --patterns …', which keeps "
                    + "its messages"
            case (true, _): "\(object): use that, or another subscription name"
            case (false, false): "\(patterns), and \(object): use those, or another subscription name"
            }
        return WireError(.subscriptionMismatch, "durable subscription '\(name)' exists with \(advice)")
    }

    private var shownPatterns: String {
        var text = ""
        for pattern in filter.patterns {
            let next = (text.isEmpty ? "'" : " '") + pattern.string + "'"
            guard text.utf8.count + next.utf8.count <= Self.shownPatternBytes else {
                // At least a part of the first pattern is shown.
                return text.isEmpty ? "'\(Self.clipped(pattern.string, to: Self.shownPatternBytes))'" : text + " …"
            }
            text += next
        }
        return text
    }

    /// The beginning of a text, with U+FFFD in place of control characters.
    private static func clipped(_ text: String, to limit: Int) -> String {
        var clipped = ""
        var bytes = 0
        for scalar in text.unicodeScalars {
            let isControl = scalar.properties.generalCategory == .control
            let shown = isControl ? "\u{FFFD}" : scalar
            bytes += UTF8.width(shown)
            guard bytes <= limit else { return clipped + "…" }
            clipped.unicodeScalars.append(shown)
        }
        return clipped
    }
}
