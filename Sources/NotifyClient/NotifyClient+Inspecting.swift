import NotifyWire

extension NotifyClient {
    /// The durable subscriptions of this user; for root those of everybody.
    ///
    /// - Throws: ``NotifyError``.
    public nonisolated(nonsending) func durableSubscriptions() async throws(NotifyError) -> [DurableSubscription] {
        try await ask { .list($0, soFar: []) }
    }

    /// Ends a durable subscription for good. Nobody may be holding it.
    ///
    /// - Parameters:
    ///   - name: The subscription's name.
    ///   - uid: Whose it is; `nil` for this user's. Only root may name another.
    /// - Throws: ``NotifyError``; `unknownSubscription`, or `subscriptionInUse` while somebody holds it.
    public nonisolated(nonsending) func removeDurableSubscription(_ name: String, uid: UInt32? = nil)
        async throws(NotifyError)
    {
        do {
            try Limits.validateSubscriptionName(name)
        } catch {
            throw NotifyError(error)
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

    private nonisolated(nonsending) func ask<Answer>(_ call: (ReplySlot<Answer>) -> Call) async throws(NotifyError)
        -> Answer
    {
        let slot = ReplySlot<Answer>()
        core.call(call(slot))
        return try await slot.wait { [core] in core.cancelCall(slot) }
    }
}
