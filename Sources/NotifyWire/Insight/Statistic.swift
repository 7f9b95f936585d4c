/// The figures of the daemon's statistics report, in display order. The raw value is the name in the report.
package enum Statistic: String, CaseIterable, Sendable {
    case uptimeSeconds = "uptime_seconds"
    case connections
    case subscriptions
    case durableSubscriptions = "durable_subscriptions"
    case servers
    case messagesIn = "messages_in"
    case requests
    case openRequests = "open_requests"
    case announcements
    case unstoredWills = "unstored_wills"
    case delivered
    case stored
    case commits
    case syncs
    case pagesRead = "pages_read"
    case redelivered
    case dropped
    case droppedByClients = "dropped_by_clients"
    case gaps
    case forbidden
    case deadLetters = "dead_letters"
    case deletedMessages = "deleted_messages"
    case damagedMessages = "damaged_messages"
    case firstDamagedSequence = "first_damaged_sequence"
    case lastDamagedSequence = "last_damaged_sequence"
    case storageWorks = "storage_works"
    case logMessages = "log_messages"
    case logBytes = "log_bytes"
    case walBytes = "wal_bytes"
    case memoryBytes = "memory_bytes"
    case memoryLimitBytes = "memory_limit_bytes"
    case socketBytes = "socket_bytes"

    /// Whether the figure counts events since the daemon's start, so that it never falls. If false, the figure is a
    /// present value.
    package var isTotal: Bool {
        switch self {
        case .messagesIn, .delivered, .stored, .commits, .syncs, .pagesRead, .redelivered, .dropped, .droppedByClients,
            .gaps, .forbidden, .requests, .deadLetters, .deletedMessages, .unstoredWills:
            true
        case .uptimeSeconds, .connections, .subscriptions, .durableSubscriptions, .servers, .openRequests,
            .announcements,
            .damagedMessages, .firstDamagedSequence, .lastDamagedSequence, .storageWorks, .logMessages, .logBytes,
            .walBytes, .memoryBytes, .memoryLimitBytes, .socketBytes:
            false
        }
    }

    /// A description of the figure for operators, in one sentence.
    package var summary: String {
        switch self {
        case .uptimeSeconds: "Time since the daemon's start."
        case .connections: "Open connections."
        case .subscriptions: "Volatile subscriptions, and durable ones with a client attached."
        case .durableSubscriptions: "Durable subscriptions, attached or not."
        case .messagesIn: "Messages accepted from clients."
        case .servers: "Registrations of clients that answer requests."
        case .requests: "Requests to servers."
        case .openRequests: "Requests that wait for a server, or that a server holds."
        case .announcements: "Values that are announced by connections."
        case .unstoredWills: "Wills that could not be stored, so that only live subscribers received them."
        case .delivered:
            "Messages queued for delivery: one for each connection with matching volatile subscriptions, for each delivery "
                + "to a durable subscription, and for each message in a page of the log."
        case .stored: "Messages stored in the log."
        case .commits: "Commits to the log."
        case .syncs: "Commits that were flushed to disk."
        case .pagesRead: "Pages of messages read from the log."
        case .redelivered: "Messages delivered again."
        case .dropped: "Messages dropped because a connection was too slow."
        case .droppedByClients: "Messages dropped by clients because their program was too slow."
        case .gaps: "Number of times that messages of a connection were dropped."
        case .forbidden: "Requests that the policy refused."
        case .deadLetters: "Messages that became dead letters."
        case .deletedMessages: "Messages deleted because of the retention rules, or purged, and dead letters retried."
        case .damagedMessages: "Known damaged messages in the log, which are not delivered."
        case .firstDamagedSequence: "Lowest known sequence of a damaged message, 0 if none is known."
        case .lastDamagedSequence: "Highest known sequence of a damaged message, 0 if none is known."
        case .storageWorks: "1 if messages can be stored, 0 if not."
        case .logMessages: "Messages in the log."
        case .logBytes: "Size of the database file."
        case .walBytes: "Size of the database's write-ahead log."
        case .memoryBytes: "Memory held for clients, in the daemon and in their sockets."
        case .socketBytes: "Memory held in the sockets of clients: the bytes that clients have not read yet."
        case .memoryLimitBytes: "Limit of the memory held for clients."
        }
    }
}
