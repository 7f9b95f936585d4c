import NotifyWire
import ServiceLifecycle

extension NotificationClient {
    /// Works on the messages of a durable subscription, several at a time: calls a handler with each message, and
    /// answers the message when the handler has ended.
    ///
    /// ```swift
    /// try await client.work(on: ["jobs.>"], as: .durable("workers", sharing: .group), parallel: 8) { job in
    ///     try await process(job.decode(as: Job.self))
    /// }
    /// ```
    ///
    /// If a handler returns, its message is acknowledged. If a handler throws, its message is rejected, with the
    /// description of the error as the reason. A rejected message is delivered again after a delay, and becomes a dead
    /// letter after the last delivery that the subscription's settings permit. A ``JobError`` chooses another answer. A
    /// ``NotifyError`` with the code `coding`, as ``Message/decode(as:)`` throws it, makes the message a dead letter at
    /// once, because another attempt would fail in the same way. A handler may also answer by itself, for example with
    /// ``Message/acknowledge()``: only the first answer counts.
    ///
    /// - Important: The text of a thrown error is stored as the reason, in the daemon's log and in a dead letter. It
    ///   must not contain secrets: to choose the text, throw a ``JobError``.
    ///
    /// The handlers run concurrently, each in a child task of the calling task. While a handler runs, the client
    /// extends the deadline of its message. After a lost connection the client attaches again, and handlers continue:
    /// their messages are not handed out twice, unless another member of the group has received them in the meantime.
    /// Messages that wait for a handler for a third of their deadline or longer are given back. A message whose
    /// deadline has passed, for example because the process was suspended, may be delivered to this client again: two
    /// handlers then run for it at the same time.
    ///
    /// A member of a group receives no more messages than it has free handlers. An exclusive subscription fetches up to
    /// 8 messages ahead, so that the next handler starts at once, unless its settings have a deadline or a maximum of
    /// deliveries. If the client ends, these messages are delivered again in order, without a failure.
    ///
    /// This method ends when the task's service is shut down, the task is cancelled, or the client stops: it starts no
    /// further handler, gives back the messages that no handler has, waits for the running handlers, and leaves the
    /// subscription with the daemon's confirmation. Messages that are given back have not failed. A graceful shutdown
    /// lets the handlers finish. A cancellation of the task also cancels the handlers: if a cancelled handler throws,
    /// its message is given back, and if it returns, its message is acknowledged.
    ///
    /// - Parameters:
    ///   - patterns: The patterns of names to match, 1 to 64.
    ///   - kind: A durable subscription. Its window follows from `parallel`.
    ///   - object: The object to match; `nil` for messages with any object or none.
    ///   - parallel: The maximum number of handlers that run at the same time, 1 to 16,384.
    ///   - timeout: The time limit until the daemon has confirmed the subscription, including the wait for a
    ///     connection; `nil` for ``Configuration/requestTimeout`` once there is a connection.
    ///   - onGap: Called with each gap. If nil, the client's logger logs gaps as warnings.
    ///   - handler: Called with each message.
    /// - Throws: ``NotifyError`` if the daemon refuses or ends the subscription; running handlers are then cancelled.
    ///   `outcomeUnknown` if the daemon did not confirm the end, or if the connection was lost before the last
    ///   acknowledgements were sent, so that the last answers may be lost. Errors of
    ///   `handler` are not thrown.
    public nonisolated(nonsending) func work(
        on patterns: [String], as kind: SubscriptionKind, object: String? = nil, parallel: Int = 1,
        timeout: Duration? = nil, onGap: ((Gap) -> Void)? = nil,
        _ handler: @escaping @Sendable (Message) async throws -> Void
    ) async throws(NotifyError) {
        try await work(
            on: patterns, as: kind, object: object, parallel: parallel, timeout: timeout, onGap: onGap,
            onSubscription: {}, handler)
    }

    /// Works as the overload without `onSubscription` does.
    ///
    /// - Parameter onSubscription: Called once the daemon has confirmed the subscription, or if the task's service is
    ///   shut down earlier.
    package nonisolated(nonsending) func work(
        on patterns: [String], as kind: SubscriptionKind, object: String? = nil, parallel: Int = 1,
        timeout: Duration? = nil, onGap: ((Gap) -> Void)? = nil, onSubscription: () -> Void,
        _ handler: @escaping @Sendable (Message) async throws -> Void
    ) async throws(NotifyError) {
        let subscription = try await subscribe(
            to: patterns, as: kind.forWorking(parallel: parallel), object: object, timeout: timeout)
        onSubscription()
        let result = await Self.run(subscription, parallel: parallel, onGap: onGap, handler)
        do {
            try await subscription.leave()
        } catch {
            try result.get()
            throw error
        }
        try result.get()
    }

    /// Works as the overload with an array of patterns does.
    public nonisolated(nonsending) func work(
        on patterns: String..., as kind: SubscriptionKind, object: String? = nil, parallel: Int = 1,
        timeout: Duration? = nil, onGap: ((Gap) -> Void)? = nil,
        _ handler: @escaping @Sendable (Message) async throws -> Void
    ) async throws(NotifyError) {
        try await work(
            on: patterns, as: kind, object: object, parallel: parallel, timeout: timeout, onGap: onGap, handler)
    }

    /// Runs handlers until the subscription ends, and waits for them.
    private static nonisolated(nonsending) func run(
        _ subscription: Subscription, parallel: Int, onGap: ((Gap) -> Void)?,
        _ handler: @escaping @Sendable (Message) async throws -> Void
    ) async -> Result<Void, NotifyError> {
        // The shutdown or cancellation gives back messages without a handler at once, even while the loop waits for a
        // handler.
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await start(subscription, parallel: parallel, onGap: onGap, handler)
            } onGracefulShutdown: {
                subscription.ledger?.stopHandlers()
            }
        } onCancel: {
            subscription.ledger?.stopHandlers()
        }
    }

    private static nonisolated(nonsending) func start(
        _ subscription: Subscription, parallel: Int, onGap: ((Gap) -> Void)?,
        _ handler: @escaping @Sendable (Message) async throws -> Void
    ) async -> Result<Void, NotifyError> {
        await withTaskGroup(of: Void.self) { group in
            var messages = Subscription.Messages.Iterator(
                events: subscription.makeAsyncIterator(), onGap: onGap ?? subscription.logGap)
            var running = 0
            let tracing = subscription.core.instruments?.tracing
            do throws(NotifyError) {
                while let message = try await messages.next() {
                    // The credit bounds the messages in flight, but passed deadlines and lost connections permit more.
                    if running == parallel {
                        await group.next()
                        running -= 1
                    }
                    let start = Task.isCancelled ? .stopped : message.batch.handlerStarts(message.index)
                    if start == .stopped { break }
                    if start == .skipped { continue }
                    running += 1
                    group.addTask { await Self.run(handler, message, tracing) }
                }
            } catch {
                group.cancelAll()
                return .failure(error)
            }
            return .success(())
        }
    }

    private static func run(
        _ handler: @Sendable (Message) async throws -> Void, _ message: Message, _ tracing: ClientTracing?
    ) async {
        let failure: (any Error)?
        do {
            if let tracing {
                try await tracing.handle(message, handler)
            } else {
                try await handler(message)
            }
            failure = nil
        } catch {
            failure = error
        }
        message.batch.handlerEnded {
            guard let failure else { return message.acknowledge() }
            // Unanswered messages are given back at the end of the subscription.
            if !Task.isCancelled { message.answer(failure) }
        }
    }
}

extension NotificationClient.SubscriptionKind {
    /// The kind with the window for a number of handlers.
    fileprivate func forWorking(parallel: Int) throws(NotifyError) -> Self {
        guard case .durable(var durable) = storage else {
            throw NotifyError(.invalidArgument, "only a durable subscription repeats messages that fail")
        }
        guard (1...Int(Limits.maximumWindow)).contains(parallel) else {
            throw NotifyError(
                .invalidArgument, "the handlers in parallel must be 1 to \(Limits.maximumWindow), not \(parallel)")
        }
        durable.window = parallel
        durable.extendsDeadlines = true
        var kind = self
        kind.storage = .durable(durable)
        return kind
    }
}
