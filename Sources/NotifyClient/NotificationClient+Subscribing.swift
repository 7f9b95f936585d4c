import Logging
import NotifyWire
import ServiceLifecycle

extension NotificationClient {
    /// Subscribes, passes the subscription to `body`, and leaves it when `body` returns or throws.
    ///
    /// This method waits until the daemon has confirmed the end of the subscription, even in a cancelled task. After
    /// the confirmation, acknowledgements are committed and another client may attach. A missing confirmation is logged
    /// as a warning.
    ///
    /// - Parameters:
    ///   - patterns: The patterns of names to match, 1 to 64. A message that several of them match is delivered once.
    ///   - kind: Volatile or durable; see ``SubscriptionKind``.
    ///   - object: The object to match; `nil` for messages with any object or none.
    ///   - limit: The number of messages after which the sequence ends; `nil` for no limit.
    ///   - timeout: The time limit until the daemon has confirmed the subscription, including the wait for a
    ///     connection; `nil` for ``Configuration/requestTimeout`` once there is a connection.
    ///   - isolation: The actor on which `body` runs, by default the caller's.
    ///   - body: Called once the daemon has confirmed the subscription.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`, or ``NotifyError`` if the subscription is refused.
    public func withSubscription<Result>(
        to patterns: [String], as kind: SubscriptionKind = .volatile(), object: String? = nil, limit: Int? = nil,
        timeout: Duration? = nil, isolation: isolated (any Actor)? = #isolation,
        _ body: (Subscription) async throws -> sending Result
    ) async throws -> sending Result {
        let subscription = try await subscribe(to: patterns, as: kind, object: object, limit: limit, timeout: timeout)
        do {
            let result = try await body(subscription)
            await leave(subscription)
            return result
        } catch {
            await leave(subscription)
            throw error
        }
    }

    /// Subscribes as the overload with an array of patterns does.
    public func withSubscription<Result>(
        to patterns: String..., as kind: SubscriptionKind = .volatile(), object: String? = nil, limit: Int? = nil,
        timeout: Duration? = nil, isolation: isolated (any Actor)? = #isolation,
        _ body: (Subscription) async throws -> sending Result
    ) async throws -> sending Result {
        try await withSubscription(
            to: patterns, as: kind, object: object, limit: limit, timeout: timeout, isolation: isolation, body)
    }

    nonisolated(nonsending) func leave(_ subscription: Subscription) async {
        do {
            try await subscription.leave()
        } catch {
            core.logWarning(error, metadata: ["notify.error_code": "\(error.code.rawValue)"])
        }
    }

    /// Subscribes. The subscription is left when its last reference is released; to wait for the daemon's confirmation,
    /// call ``Subscription/leave()`` or use ``withSubscription(to:as:object:limit:timeout:isolation:_:)-([String],_,_,_,_,_,_)``.
    ///
    /// - Parameters:
    ///   - patterns: The patterns of names to match, 1 to 64. A message that several of them match is delivered once.
    ///   - kind: Volatile or durable; see ``SubscriptionKind``.
    ///   - object: The object to match; `nil` for messages with any object or none.
    ///   - limit: The number of messages after which the sequence ends; `nil` for no limit. 0 creates a durable
    ///     subscription without receiving from it, and is invalid for a volatile subscription.
    ///   - timeout: The time limit until the daemon has confirmed the subscription, including the wait for a
    ///     connection; `nil` for ``Configuration/requestTimeout`` once there is a connection.
    /// - Returns: The subscription, once the daemon has confirmed it. If the task's service is shut down before the
    ///   confirmation, for example while there is no connection, the subscription has ended and yields nothing.
    /// - Throws: ``NotifyError``, such as `invalidPattern` and `forbidden`; for a durable subscription also
    ///   `subscriptionHeld` and `subscriptionMismatch`.
    public nonisolated(nonsending) func subscribe(
        to patterns: [String], as kind: SubscriptionKind = .volatile(), object: String? = nil, limit: Int? = nil,
        timeout: Duration? = nil
    ) async throws(NotifyError) -> Subscription {
        var spec = try SubscriptionSpec(patterns: patterns, object: object, kind: kind, limit: limit)
        let deadline = core.deadline(after: timeout)
        if !spec.isDurable, spec.start != .now {
            do throws(NotifyError) {
                spec.snapshotStart = try await core.find(
                    spec.start, until: deadline, endsOnShutdown: true
                ).sequence
            } catch {
                guard error.code == .cancelled, !Task.isCancelled, Task.isShuttingDownGracefully else { throw error }
                return Subscription(endedOn: core, spec: spec)
            }
        }
        let openWaiter = ReplySlot<Subscribed?>(timeout: deadline.left)
        let (number, buffer, ledger) = core.subscribe(spec, openWaiter: openWaiter)
        // If the wait fails, `subscription` is released, which leaves the subscription.
        let subscription = Subscription(core: core, number: number, buffer: buffer, ledger: ledger, spec: spec)
        let opened = try await openWaiter.wait {
            openWaiter.answer(.failure(.cancelled))
        } onGracefulShutdown: {
            if openWaiter.answer(.success(nil)) { buffer.put(.end(nil)) }
        }
        if spec.isDurable, let opened, opened.isResumed { subscription.resumed(after: opened.sequence) }
        return subscription
    }

    /// The acknowledgement policy of
    /// ``subscribe(to:as:object:limit:timeout:acknowledging:onGap:_:)-([String],_,_,_,_,_,_,_)``.
    public enum Acknowledging: Hashable, Sendable {
        /// Acknowledges each message once the closure has returned without throwing.
        case automatically
        /// Leaves acknowledging to the closure, which calls ``Message/acknowledge()``.
        case byClosure
    }

    /// Subscribes and calls a closure with each message, one after another. Leaves the subscription and returns when
    /// the task is cancelled, the task's service is shut down, the client stops, or the limit is reached.
    ///
    /// Both closures run in the caller's task and on its actor, so they may use state isolated to that actor.
    ///
    /// - Parameters:
    ///   - patterns: The patterns of names to match, 1 to 64. A message that several of them match is delivered once.
    ///   - kind: Volatile or durable; see ``SubscriptionKind``.
    ///   - object: The object to match; `nil` for messages with any object or none.
    ///   - limit: The number of messages after which the method returns; `nil` for no limit.
    ///   - timeout: The time limit until the daemon has confirmed the subscription, including the wait for a
    ///     connection; `nil` for ``Configuration/requestTimeout`` once there is a connection.
    ///   - acknowledging: The acknowledgement policy for a durable subscription.
    ///   - onGap: Called with each gap, in the place of the missed messages.
    ///   - handler: Called with each message. If it throws, the message is not acknowledged and the subscription is
    ///     left.
    /// - Throws: The error of `handler`, or ``NotifyError`` if the daemon refuses or ends the subscription.
    public nonisolated(nonsending) func subscribe(
        to patterns: [String], as kind: SubscriptionKind = .volatile(), object: String? = nil, limit: Int? = nil,
        timeout: Duration? = nil, acknowledging: Acknowledging = .automatically, onGap: (Gap) -> Void,
        _ handler: (Message) async throws -> Void
    ) async throws {
        let subscription = try await subscribe(to: patterns, as: kind, object: object, limit: limit, timeout: timeout)
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

    /// Subscribes as the overload with an array of patterns does.
    public nonisolated(nonsending) func subscribe(
        to patterns: String..., as kind: SubscriptionKind = .volatile(), object: String? = nil, limit: Int? = nil,
        timeout: Duration? = nil, acknowledging: Acknowledging = .automatically, onGap: (Gap) -> Void,
        _ handler: (Message) async throws -> Void
    ) async throws {
        try await subscribe(
            to: patterns, as: kind, object: object, limit: limit, timeout: timeout, acknowledging: acknowledging,
            onGap: onGap, handler)
    }
}
