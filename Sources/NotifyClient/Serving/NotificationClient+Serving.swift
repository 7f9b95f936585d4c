import NotifyCenter
import NotifyWire
import ServiceLifecycle

extension NotificationClient {
    /// Answers requests: calls a handler with each request whose name matches one of the patterns, and sends what the
    /// handler returns as the reply.
    ///
    /// ```swift
    /// try await client.serve("jobs.*", concurrency: 8) { request in
    ///     .init("\(try await status(of: request.name))")
    /// }
    /// ```
    ///
    /// If a handler throws, the asker gets `requestFailed` with the description of the error. A ``RequestError`` chooses
    /// the text, or gives the request back to another server.
    ///
    /// The handlers run concurrently. The daemon hands over at most `concurrency` requests at a time; others wait in
    /// the daemon, in order, until their time limit. Several clients of the same user may serve the same names: the one
    /// with the most room gets the next request. When the time limit of a request has passed, or its asker has cancelled
    /// it or has disconnected, the task of its handler is cancelled, and what the handler returns is discarded.
    ///
    /// After a lost connection the client registers again. The handlers of the lost connection are cancelled, because
    /// their askers have learned that the server is gone.
    ///
    /// This method ends when the task's service is shut down, the task is cancelled, or the client stops: it gives back
    /// the requests that no handler has, and waits for the running handlers, whose replies are still sent. A cancellation
    /// of the task also cancels the handlers.
    ///
    /// - Parameters:
    ///   - patterns: The patterns of names to serve, 1 to 64. By default, the policy permits this for names under
    ///     `user.` and the own uid; root and the daemon's user may serve every name.
    ///   - concurrency: The maximum number of handlers that run at the same time, 1 to 16,384.
    ///   - timeout: The time limit until the daemon has confirmed the registration, including the wait for a
    ///     connection; `nil` for ``Configuration/requestTimeout`` once there is a connection.
    ///   - handler: Called with each request.
    /// - Throws: ``NotifyError`` if the daemon refuses the registration, at first or after a lost connection: `forbidden`
    ///   or, if another user serves some of the names, `serviceHeld`. Errors of `handler` are not thrown.
    public nonisolated(nonsending) func serve(
        _ patterns: [String], concurrency: Int = 16, timeout: Duration? = nil,
        _ handler: @escaping @Sendable (Request) async throws -> Response
    ) async throws(NotifyError) {
        guard (1...Int(Limits.maximumConcurrency)).contains(concurrency) else {
            throw NotifyError(
                .invalidArgument, "the concurrency must be 1 to \(Limits.maximumConcurrency), not \(concurrency)")
        }
        let spec = try SubscriptionSpec(patterns: patterns, object: nil, kind: .volatile(), limit: nil)
        let calls = core.receivedCalls()
        let opened = ReplySlot<Void>(timeout: timeout)
        let number = core.serve(
            spec.patterns.map(\.string), concurrency: UInt32(concurrency), calls, openWaiter: opened)
        do throws(NotifyError) {
            try await opened.wait {
                opened.fail(.cancelled)
            } onGracefulShutdown: {
                opened.fail(.shutDown)
            }
        } catch {
            core.endServing(number, ReplySlot<Void>())
            throw error
        }
        await run(calls, number, concurrency, handler)
        let ended = ReplySlot<Void>()
        core.endServing(number, ended)
        try await ended.wait()
        if let error = calls.error { throw error }
    }

    /// Answers requests as the overload with an array of patterns does.
    public nonisolated(nonsending) func serve(
        _ patterns: String..., concurrency: Int = 16, timeout: Duration? = nil,
        _ handler: @escaping @Sendable (Request) async throws -> Response
    ) async throws(NotifyError) {
        try await serve(patterns, concurrency: concurrency, timeout: timeout, handler)
    }

    /// Runs handlers until the server ends, and waits for them.
    private nonisolated(nonsending) func run(
        _ calls: ReceivedCalls, _ number: UInt32, _ concurrency: Int,
        _ handler: @escaping @Sendable (Request) async throws -> Response
    ) async {
        let core = core
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await withTaskGroup(of: Void.self) { group in
                    var running = 0
                    while true {
                        // Handlers of a lost connection may still run.
                        if running == concurrency {
                            await group.next()
                            running -= 1
                        }
                        guard let call = await calls.next() else { return }
                        running += 1
                        let task = Task { await Self.handle(call, core, handler) }
                        calls.started(task, for: call)
                        group.addTask {
                            await withTaskCancellationHandler {
                                await task.value
                            } onCancel: {
                                task.cancel()
                            }
                            calls.finished(call)
                        }
                    }
                }
            } onGracefulShutdown: {
                core.endServing(number, nil)
            }
        } onCancel: {
            core.endServing(number, nil)
        }
    }

    private static func handle(
        _ call: ReceivedCall, _ core: ClientCore, _ handler: @Sendable (Request) async throws -> Response
    ) async {
        do {
            let response = try await handler(call.request)
            core.respond(to: call, .replied, headers: try response.headers.encoded(), payload: response.payload)
        } catch let error as RequestError where error.isReturned {
            core.respond(to: call, .returned)
        } catch {
            core.respond(to: call, .failed, payload: Array("\(error)".utf8))
        }
    }
}
