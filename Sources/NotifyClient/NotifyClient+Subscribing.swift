extension NotifyClient {
    /// Subscribes, gives the subscription to `body`, and leaves it when `body` returns or throws.
    ///
    /// Leaving is confirmed by the daemon, also in a task that is cancelled: when this returns, what was acknowledged is
    /// committed, and another client may attach. Where the confirmation does not come, the log says so.
    ///
    /// - Parameters:
    ///   - patterns: Which names; one message comes once, however many of them match.
    ///   - kind: Whether messages may be missed; see ``SubscriptionKind``.
    ///   - object: Where given, only messages with this object.
    ///   - limit: Where given, how many messages are delivered at most; then the sequence ends.
    ///   - isolation: The actor that `body` runs on, by default the caller's.
    ///   - body: What to do with the subscription, which stands when this is called.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, and ``NotifyError`` where the subscription is refused.
    public func withSubscription<Result>(
        to patterns: [String], as kind: SubscriptionKind = .volatile(), object: String? = nil, limit: Int? = nil,
        isolation: isolated (any Actor)? = #isolation, _ body: (Subscription) async throws -> sending Result
    ) async throws -> sending Result {
        let subscription = try await subscribe(to: patterns, as: kind, object: object, limit: limit)
        do {
            let result = try await body(subscription)
            await leave(subscription)
            return result
        } catch {
            await leave(subscription)
            throw error
        }
    }

    /// Subscribes to patterns that are written one after another; otherwise the form that takes an array.
    public func withSubscription<Result>(
        to patterns: String..., as kind: SubscriptionKind = .volatile(), object: String? = nil, limit: Int? = nil,
        isolation: isolated (any Actor)? = #isolation, _ body: (Subscription) async throws -> sending Result
    ) async throws -> sending Result {
        try await withSubscription(
            to: patterns, as: kind, object: object, limit: limit, isolation: isolation, body)
    }

    private nonisolated(nonsending) func leave(_ subscription: Subscription) async {
        do {
            try await subscription.leave()
        } catch {
            core.log(error)
        }
    }

    /// Subscribes. The subscription is left when it is let go of; to have that confirmed, call ``Subscription/leave()``, or
    /// use ``withSubscription(to:as:object:limit:isolation:_:)``.
    ///
    /// - Parameters:
    ///   - patterns: Which names; one message comes once, however many of them match.
    ///   - kind: Whether messages may be missed; see ``SubscriptionKind``.
    ///   - object: Where given, only messages with this object.
    ///   - limit: Where given, how many messages are delivered at most; then the sequence ends. 0 is for durable
    ///     subscriptions, which are created then and nothing else.
    /// - Returns: The subscription, once it stands.
    /// - Throws: ``NotifyError``, such as `invalidPattern`, `forbidden`, or for a durable one `subscriptionHeld` and
    ///   `subscriptionMismatch`.
    public nonisolated(nonsending) func subscribe(
        to patterns: [String], as kind: SubscriptionKind = .volatile(), object: String? = nil, limit: Int? = nil
    ) async throws(NotifyError) -> Subscription {
        let spec = try SubscriptionSpec(patterns: patterns, object: object, kind: kind, limit: limit)
        let opener = ReplySlot<Void>()
        let (number, buffer) = core.subscribe(spec, opener: opener)
        // If this fails, letting go of the subscription takes it back.
        let subscription = Subscription(core: core, number: number, buffer: buffer)
        try await opener.wait { opener.answer(.failure(.cancelled)) }
        return subscription
    }

    /// When ``subscribe(to:as:object:limit:acknowledging:onGap:_:)`` acknowledges.
    public enum Acknowledging: Hashable, Sendable {
        /// Each message, once the closure has returned without throwing.
        case automatically
        /// Never: the closure calls ``Message/acknowledge()``.
        case byClosure
    }

    /// Subscribes and calls a closure with each message, one after another, until the task is cancelled, the client stops,
    /// or the limit is reached; then leaves the subscription.
    ///
    /// Both closures run in the caller's task and on its actor, so they may use what belongs to that actor.
    ///
    /// - Parameters:
    ///   - patterns: Which names; one message comes once, however many of them match.
    ///   - kind: Whether messages may be missed; see ``SubscriptionKind``.
    ///   - object: Where given, only messages with this object.
    ///   - limit: Where given, how many messages are delivered at most.
    ///   - acknowledging: When messages of a durable subscription are acknowledged.
    ///   - onGap: Called in the place of messages that were missed.
    ///   - handler: Called with each message. If it throws, the message is not acknowledged and the subscription is left.
    /// - Throws: What `handler` throws, and ``NotifyError`` where the subscription is refused or ended by the daemon.
    public nonisolated(nonsending) func subscribe(
        to patterns: [String], as kind: SubscriptionKind = .volatile(), object: String? = nil, limit: Int? = nil,
        acknowledging: Acknowledging = .automatically, onGap: (Gap) -> Void,
        _ handler: (Message) async throws -> Void
    ) async throws {
        let subscription = try await subscribe(to: patterns, as: kind, object: object, limit: limit)
        do {
            for try await event in subscription {
                switch event {
                case .gap(let gap): onGap(gap)
                case .message(let message):
                    try await handler(message)
                    if acknowledging == .automatically { message.acknowledge() }
                }
            }
        } catch {
            await leave(subscription)
            throw error
        }
        await leave(subscription)
    }

    /// Subscribes to patterns that are written one after another; otherwise the form that takes an array.
    public nonisolated(nonsending) func subscribe(
        to patterns: String..., as kind: SubscriptionKind = .volatile(), object: String? = nil, limit: Int? = nil,
        acknowledging: Acknowledging = .automatically, onGap: (Gap) -> Void,
        _ handler: (Message) async throws -> Void
    ) async throws {
        try await subscribe(
            to: patterns, as: kind, object: object, limit: limit, acknowledging: acknowledging, onGap: onGap, handler)
    }
}
