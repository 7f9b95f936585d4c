import NotifyWire

extension NotifyClient {
    /// The durable subscriptions of this user; for root those of every user.
    ///
    /// - Throws: ``NotifyError``.
    public nonisolated(nonsending) func durableSubscriptions() async throws(NotifyError) -> [DurableSubscription] {
        try await ask { .list($0, soFar: []) }
    }

    /// Creates a durable subscription without receiving from it: from then on the daemon keeps what matches.
    ///
    /// One that exists already, with these patterns and this object, is left as it is.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 of letters, digits, `.`, `_` and `-`; unique per user.
    ///   - patterns: Which names; one message is kept once, however many of them match.
    ///   - object: Where given, only messages with this object.
    ///   - start: Where it begins.
    /// - Throws: ``NotifyError``, such as `subscriptionMismatch` where it exists with other patterns, or
    ///   `subscriptionHeld` where another client is attached to it.
    public nonisolated(nonsending) func createDurableSubscription(
        _ name: String, to patterns: [String], object: String? = nil, from start: Start = .now
    ) async throws(NotifyError) {
        let subscription = try await subscribe(to: patterns, as: .durable(name, from: start), object: object, limit: 0)
        try await subscription.leave()
    }

    /// Checks what ``createDurableSubscription(_:to:object:from:)`` would refuse without asking the daemon.
    package static func validateDurableSubscription(
        _ name: String, to patterns: [String], object: String?
    ) throws(NotifyError) {
        _ = try SubscriptionSpec(patterns: patterns, object: object, kind: .durable(name), limit: 0)
    }

    /// Ends a durable subscription for good. No client may be attached to it.
    ///
    /// - Parameters:
    ///   - name: The subscription's name.
    ///   - uid: Whose it is; `nil` for this user's. Only root may name another.
    /// - Throws: ``NotifyError``; `unknownSubscription`, `subscriptionInUse` while a client is attached to it, or
    ///   `invalidArgument` for 4,294,967,295, which is no user's uid.
    public nonisolated(nonsending) func removeDurableSubscription(_ name: String, uid: UInt32? = nil)
        async throws(NotifyError)
    {
        do {
            try Limits.validateSubscriptionName(name)
        } catch {
            throw NotifyError(error)
        }
        guard uid != Remove.ownUID else {
            throw NotifyError(.invalidArgument, "\(Remove.ownUID) is no user's uid; leave the uid out for your own")
        }
        try await ask { (slot: ReplySlot<Void>) in .remove(name: name, uid: uid ?? Remove.ownUID, slot) }
    }

    /// Asks the daemon for a sign of life, and gives the time that took.
    ///
    /// - Throws: ``NotifyError``.
    @discardableResult
    public nonisolated(nonsending) func ping() async throws(NotifyError) -> Duration {
        let clock = ContinuousClock()
        let start = clock.now
        try await ask { (slot: ReplySlot<Void>) in .ping(slot) }
        return clock.now - start
    }

    /// The daemon's counters.
    ///
    /// - Throws: ``NotifyError``.
    public nonisolated(nonsending) func statistics() async throws(NotifyError) -> Statistics {
        try await ask { .statistics($0) }
    }

    /// What your user holds of everything that the daemon limits; as root, what every user holds.
    ///
    /// - Throws: ``NotifyError``.
    public nonisolated(nonsending) func resourceUse() async throws(NotifyError) -> [ResourceUse] {
        try await ask { .limits($0) }
    }

    private nonisolated(nonsending) func ask<Answer>(_ call: (ReplySlot<Answer>) -> Call) async throws(NotifyError)
        -> Answer
    {
        let slot = ReplySlot<Answer>()
        core.call(call(slot))
        return try await slot.wait { [core] in core.cancelCall(slot) }
    }
}
