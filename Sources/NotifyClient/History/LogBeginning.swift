@_spi(Package) import NotifyCenter

/// The beginning of a sequence of stored messages. The iterators of the sequence share it.
final class LogBeginning: Sendable {
    let client: NotificationClient
    private let query: LogQuery
    /// The time limit for finding the positions, and for each request for messages; nil for the client's time limit.
    let timeout: Duration?
    /// The cursor at which the first iterator began, if the sequence follows the log.
    private let first = Lock<LogCursor?>(nil)

    init(client: NotificationClient, query: LogQuery, timeout: Duration?) {
        self.client = client
        self.query = query
        self.timeout = timeout
    }

    /// Whether the sequence continues with each message as it is stored.
    var follows: Bool { query.follows }

    /// Returns the cursor at which an iterator begins.
    nonisolated(nonsending) func cursor() async throws(NotifyError) -> LogCursor {
        if let known = first.withLock({ $0 }) { return known }
        let cursor = try await client.begin(query, until: client.core.deadline(after: timeout))
        guard query.follows else { return cursor }
        return first.withLock { first in
            let shared = first ?? cursor
            first = shared
            return shared
        }
    }
}
