import NotifyCenter

/// The beginning of a sequence of stored messages, shared by its iterators.
final class LogBeginning: Sendable {
    let client: NotificationClient
    private let query: LogQuery
    /// The time limit until the positions are found, and of each request for messages; nil for that of the client.
    let timeout: Duration?
    /// The cursor of the first iterator at its start, if the sequence follows the log.
    private let first = Lock<LogCursor?>(nil)

    init(client: NotificationClient, query: LogQuery, timeout: Duration?) {
        self.client = client
        self.query = query
        self.timeout = timeout
    }

    /// Whether the sequence continues with each message as it is stored.
    var follows: Bool { query.follows }

    /// The cursor for an iterator at its start.
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
