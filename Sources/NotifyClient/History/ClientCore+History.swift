import NotifyWire

/// Requests that read the log.
extension ClientCore {
    nonisolated(nonsending) func find(
        _ position: LogPosition, until deadline: RequestDeadline, endsOnShutdown: Bool = false
    ) async throws(NotifyError) -> Found {
        try await retrying(until: deadline, endsOnShutdown: endsOnShutdown) {
            FrameCall(Find(position: position), timeout: $0)
        }
    }

    /// - Parameter timeout: The time limit; nil for the client's time limit. Ignored for a request that waits for
    ///   messages: its reply may take any time (see `ReadLog.replyTime`).
    nonisolated(nonsending) func page(
        _ request: ReadLog, timeout: Duration?
    ) async throws(NotifyError) -> ReceivedLogPage {
        try await retrying(
            until: deadline(after: request.isWaiting ? nil : timeout), endsOnShutdown: request.isWaiting
        ) {
            PageCall(request, timeout: $0)
        }
    }
}
