import NotifyWire

extension NotifyClient {
    /// Lists the durable subscriptions of this user. If this user may manage everything, the list contains the
    /// subscriptions of all users.
    ///
    /// - Throws: ``NotifyError``.
    public nonisolated(nonsending) func durableSubscriptions() async throws(NotifyError) -> [DurableSubscription] {
        try await list(.durables).compactMap { entry in
            if case .subscription(let entry) = entry { DurableSubscription(entry) } else { nil }
        }
    }

    /// Lists the connected clients of this user, including this client. If this user may manage everything, the list
    /// contains the clients of all users.
    ///
    /// The daemon answers in pieces: clients that connect or disconnect meanwhile may be missing.
    ///
    /// - Throws: ``NotifyError``.
    public nonisolated(nonsending) func clients() async throws(NotifyError) -> [ClientStatus] {
        try await list(.clients).compactMap { if case .client(let entry) = $0 { ClientStatus(entry) } else { nil } }
    }

    /// Lists the durable subscriptions of this user, and the volatile subscriptions of its connected clients. If this
    /// user may manage everything, the list contains the subscriptions of all users.
    ///
    /// The daemon answers in pieces: subscriptions that begin or end meanwhile may be missing.
    ///
    /// - Throws: ``NotifyError``.
    public nonisolated(nonsending) func subscriptions() async throws(NotifyError) -> [SubscriptionStatus] {
        try await list(.subscriptions).compactMap { entry in
            if case .subscription(let entry) = entry { SubscriptionStatus(entry) } else { nil }
        }
    }

    private nonisolated(nonsending) func list(_ subject: ListSubject) async throws(NotifyError) -> [ListedEntry] {
        try await ask { .list(subject, $0, entries: []) }
    }

    /// Creates a durable subscription without receiving from it. The daemon keeps matching messages from then on.
    ///
    /// An existing subscription with these patterns and this object is not changed.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 letters, digits, `.`, `_` or `-`; unique per user.
    ///   - patterns: The patterns of names to match, 1 to 64. A message that several of them match is kept once.
    ///   - object: The object to match; `nil` for messages with any object or none.
    ///   - start: Where the subscription begins.
    /// - Throws: ``NotifyError``, such as `subscriptionMismatch` if the subscription exists with other patterns or
    ///   another object, or `subscriptionHeld` if another client is attached to it.
    public nonisolated(nonsending) func createDurableSubscription(
        _ name: String, to patterns: [String], object: String? = nil, from start: Start = .now
    ) async throws(NotifyError) {
        let subscription = try await subscribe(to: patterns, as: .durable(name, from: start), object: object, limit: 0)
        try await subscription.leave()
    }

    /// Checks the arguments of ``createDurableSubscription(_:to:object:from:)`` as far as that is possible without the
    /// daemon.
    package static func validateDurableSubscription(
        _ name: String, to patterns: [String], object: String?
    ) throws(NotifyError) {
        _ = try SubscriptionSpec(patterns: patterns, object: object, kind: .durable(name), limit: 0)
    }

    /// Removes a durable subscription and its cursor. No client may be attached to it.
    ///
    /// - Parameters:
    ///   - name: The subscription's name.
    ///   - uid: The uid of the owner; `nil` for this user. To name another user, this user needs the right to manage
    ///     everything.
    /// - Throws: ``NotifyError``, such as `unknownSubscription`, `subscriptionInUse` while a client is attached to it,
    ///   or `invalidArgument` for 4,294,967,295, which is no user's uid.
    public nonisolated(nonsending) func removeDurableSubscription(_ name: String, uid: UInt32? = nil)
        async throws(NotifyError)
    {
        do {
            try Limits.validateSubscriptionName(name)
        } catch {
            throw NotifyError(error)
        }
        guard uid != Remove.ownUID else {
            throw NotifyError(.invalidArgument, "\(Remove.ownUID) is not the uid of a user; omit it for your own")
        }
        try await ask { (slot: ReplySlot<Void>) in .remove(name: name, uid: uid ?? Remove.ownUID, slot) }
    }

    /// Checks that the daemon responds.
    ///
    /// - Returns: The time until the answer. Without a connection, this includes the wait for one.
    /// - Throws: ``NotifyError``.
    @discardableResult
    public nonisolated(nonsending) func ping() async throws(NotifyError) -> Duration {
        let clock = ContinuousClock()
        let start = clock.now
        try await ask { (slot: ReplySlot<Void>) in .ping(slot) }
        return clock.now - start
    }

    /// Reads the daemon's counters.
    ///
    /// - Throws: ``NotifyError``.
    public nonisolated(nonsending) func statistics() async throws(NotifyError) -> Statistics {
        try await ask { .statistics($0) }
    }

    /// Reads the use of each limited resource by this user. If this user may manage everything, the result covers every
    /// user.
    ///
    /// - Throws: ``NotifyError``.
    public nonisolated(nonsending) func resourceUse() async throws(NotifyError) -> [ResourceUse] {
        try await ask { .limits($0) }
    }

    nonisolated(nonsending) func ask<Answer>(_ call: (ReplySlot<Answer>) -> Call) async throws(NotifyError)
        -> Answer
    {
        let slot = ReplySlot<Answer>()
        core.call(call(slot))
        return try await slot.wait { [core] in core.cancelCall(slot) }
    }
}
