import NotifyWire

extension NotificationClient {
    /// Checks that the daemon responds.
    ///
    /// - Parameter timeout: The time limit, which includes the wait for a connection; `nil` for
    ///   ``Configuration/requestTimeout`` once there is a connection.
    /// - Returns: The time until the answer, including the wait for a connection.
    /// - Throws: ``NotifyError``.
    @discardableResult
    public nonisolated(nonsending) func ping(timeout: Duration? = nil) async throws(NotifyError) -> Duration {
        let clock = ContinuousClock()
        let start = clock.now
        _ = try await ask(Ping(), timeout: timeout)
        return clock.now - start
    }

    /// Sends a request and waits for its reply.
    ///
    /// - Parameters:
    ///   - timeout: The time limit, which includes the wait for a connection; nil for the client's time limit.
    ///   - onPart: Called with the reply so far, on the client's event loop, after each frame that does not complete
    ///     the reply.
    nonisolated(nonsending) func ask<Request: RequestFrame>(
        _ request: Request, timeout: Duration?, onPart: (@Sendable (Request.Reply) -> Void)? = nil
    ) async throws(NotifyError) -> Request.Reply {
        let measured = core.instruments?.begin()
        do throws(NotifyError) {
            let reply = try await core.answer(to: FrameCall(request, timeout: timeout, onPart: onPart))
            measured?.end()
            return reply
        } catch {
            measured?.end(error)
            throw error
        }
    }
}
