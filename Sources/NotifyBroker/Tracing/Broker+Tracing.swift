import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire

/// Traces report the state of a stored message in each durable subscription.
extension Broker {
    /// Begins a trace. Later requests of the connection wait until the trace is answered.
    mutating func trace(_ trace: TraceRequest, _ slot: ConnectionSlot) throws(WireError) {
        guard trace.sequence > 0, trace.sequence <= commits.persistedThrough else {
            throw Self.unknownMessage(trace.sequence)
        }
        scheduler.spend(FairScheduler.Cost.trace)
        pages.traces.append(
            PendingTrace(
                connection: connections[slot].id, uid: connections[slot].uid, request: trace.request,
                sequence: trace.sequence))
        pause(slot, .awaitingPage)
        actions.append(.scheduleTick)
    }

    /// The maximum number of copies that a trace reads to find out why deliveries failed.
    private static let tracedCopies = 64

    private static func unknownMessage(_ sequence: UInt64) -> WireError {
        WireError(
            .unknownMessage,
            "no stored message has the sequence \(sequence), or you may not read it; volatile messages are not stored")
    }

    private static func unreadableMessage(_ sequence: UInt64) -> WireError {
        WireError(
            .forbidden,
            "you may not read the message with the sequence \(sequence), which a durable subscription of yours has not "
                + "acknowledged")
    }

    private static func damagedMessage(_ sequence: UInt64) -> WireError {
        WireError(.unknownMessage, "the stored message with the sequence \(sequence) is damaged and can't be read")
    }

    /// Begins the next trace, and returns the request for the page with its message; nil if no trace waits.
    mutating func nextTracePage() -> PageRequest? {
        guard let trace = pages.traces.next() else { return nil }
        pages.traces.begin(trace)
        let identity = connections[trace.connection.slot].identity
        var request = PageRequest(
            for: .trace, filter: .everything, access: access.readAccess(of: identity),
            after: trace.sequence - 1, through: trace.sequence, maximumMessages: 1)
        request.copiesOf = copies(of: trace.sequence, for: trace.connection.slot)
        return request
    }

    /// The durable subscriptions in a trace that have a copy of the traced message, at most ``tracedCopies``.
    private mutating func copies(of sequence: UInt64, for slot: ConnectionSlot) -> [DurableID] {
        let uid = access.mayManageEverything(connections[slot].identity) ? nil : connections[slot].uid
        return Array(holders(of: sequence, uid: uid).prefix(Self.tracedCopies))
    }

    /// The durable subscriptions that still hold a message for redelivery although their cursor has passed it.
    ///
    /// - Parameter uid: The uid of the owner; nil for the subscriptions of all users.
    private mutating func holders(of sequence: UInt64, uid: UInt32?) -> [DurableID] {
        durables(of: uid).filter { id in
            durables.slot(of: id).map { durables[$0].redeliveryState(of: sequence) != nil } ?? false
        }
    }

    /// Answers a trace, or refuses it if the message was not found.
    mutating func tracedMessageRead(_ page: Page, now: BrokerTime) {
        guard let trace = pages.traces.finish() else { return }
        let slot = trace.connection.slot
        if case .success(let content) = page.result {
            scheduler.charge(
                content.block.frames.readableBytes >> FairScheduler.Cost.bytesShift, to: connections[slot].uid)
        }
        switch page.result {
        case .failure(let failure):
            storageFailed(failure, now: now)
            refuse(slot, request: trace.request, failure.wireError)
        case .success(let content):
            if let message = message(trace, in: content.block, for: connections[slot].identity) {
                let isManager = access.mayManageEverything(connections[slot].identity)
                let uid = isManager ? nil : connections[slot].uid
                answer(slot, message)
                var traced = message
                // The headers of a dead letter name its original message.
                let isDeadLetter = traced.name.withUnsafeBytes { DeadLetterHeaders.isDeadLetter($0) }
                if !isDeadLetter { traced.headers = [] }
                (traced.payload, traced.reason) = ([], "")
                connections[slot].listing = Listing(
                    request: trace.request,
                    source: .trace(.init(message: traced, reasons: content.reasons), durables(of: uid)))
            } else if content.damaged.contains(trace.sequence) {
                refuse(slot, request: trace.request, Self.damagedMessage(trace.sequence))
            } else if !holders(of: trace.sequence, uid: connections[slot].uid).isEmpty {
                refuse(slot, request: trace.request, Self.unreadableMessage(trace.sequence))
            } else {
                refuse(slot, request: trace.request, Self.unknownMessage(trace.sequence))
            }
        }
        resume(slot, .awaitingPage)
        if connections[slot].listing != nil { endTurn(of: slot, hasMore: true) }
    }

    private func message(_ trace: PendingTrace, in block: LogBlock, for identity: IdentityID) -> PostEntry? {
        guard let entry = block.entries.first, entry.sequence == trace.sequence else { return nil }
        return block.withMessage(entry) { message in
            // The policy may have changed since the page was requested.
            guard access.readAccess(of: identity).permits(message.parts) else { return nil }
            var post = PostEntry(request: trace.request, stamp: message.stamp, message.parts)
            post.durability = .stored
            return post
        }
    }

    // MARK: Subscriptions

    /// Lists the state of a traced message in a durable subscription.
    mutating func listTraced(
        _ traced: ListSource.Traced, in id: DurableID, for slot: ConnectionSlot, request: UInt64
    ) {
        guard let durable = durables.slot(of: id) else { return }
        scheduler.spend(FairScheduler.Cost.tracePattern * (1 + durables[durable].filter.patterns.count))
        guard var entry = traceEntry(durable, traced.message, request: request) else { return }
        if entry.reason.isEmpty { entry.reason = traced.reasons[id] ?? "" }
        answer(slot, entry)
    }

    /// The entry of a durable subscription; nil if its filter does not match the message.
    private func traceEntry(_ slot: DurableSlot, _ message: PostEntry, request: UInt64) -> TraceEntry? {
        let durable = durables[slot]
        let isMatch = message.name.withUnsafeBytes { durable.filter.matches(name: $0) }
        guard isMatch, durable.filter.object.map({ $0.utf8.elementsEqual(message.object) }) ?? true else { return nil }
        let sequence = message.stamp.sequence
        var state = durable.traceState(of: sequence)
        if state == .pending || state == .waiting, !message.withParts({ mayReceive($0, durable) }) {
            state = .forbidden
        }
        let attachment = durable.firstMember?.attachment
        return TraceEntry(
            request: request, state: state,
            mayHaveBeenSeen: (state == .pending || state == .waiting)
                && sequence <= durable.seenThrough,
            uid: durable.uid, pid: attachment?.pid ?? 0,
            client: attachment.map { connections[$0.connection.slot].number } ?? 0,
            failures: durable.failures(of: sequence),
            nextMicroseconds: durable.dueTime(of: sequence, now: durables.time) ?? 0,
            reason: durable.unsavedReason(of: sequence), durableName: durable.name)
    }
}

extension SubscriptionFilter {
    /// A filter that selects every message, including those under names reserved for the daemon.
    static let everything = SubscriptionFilter(
        patterns: [.everyName, "notifyd.>"])
}
