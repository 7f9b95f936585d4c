import NotifyWire

extension NotificationClient {
    /// The order in which messages of the log are read.
    public enum LogOrder: Hashable, Sendable {
        case oldestFirst
        /// From the end to the start: a limit selects the last messages.
        case newestFirst
    }

    /// Reads messages of the daemon's log.
    ///
    /// Only stored messages are read: messages that a durable subscription matched, or that were posted to be stored.
    /// Messages whose name this user may not receive are left out.
    ///
    /// ```swift
    /// for try await case .message(let message) in try client.log("orders.>", from: .age(.seconds(3600))) {
    ///     print(message.date, message.name)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - patterns: The patterns of names to match, 1 to 64.
    ///   - start: The position of the first message.
    ///   - end: The end: the last sequence, or the time before which messages were posted. `nil` for the end of the log
    ///     at the time when reading begins. Must be `nil` if the sequence follows the log.
    ///   - object: The object to match; `nil` for messages with any object or none.
    ///   - limit: The number of messages after which the sequence ends; `nil` for no limit.
    ///   - follows: Whether to continue, after the stored messages, with each message as it is stored.
    ///   - order: Whether the oldest or the newest message comes first. A sequence that follows the log must begin with
    ///     the oldest.
    ///   - timeout: The time limit for finding the positions, and for each request for messages. It includes the wait
    ///     for a connection; `nil` for ``Configuration/requestTimeout`` once there is a connection. A sequence that
    ///     follows the log waits for messages without a limit.
    /// - Throws: ``NotifyError`` for invalid arguments. The sequence throws `forbidden` if this user may not receive a
    ///   pattern, and other errors of the daemon.
    public func log(
        _ patterns: [String], from start: Start = .oldest, to end: Start? = nil, object: String? = nil,
        limit: Int? = nil, follows: Bool = false, order: LogOrder = .oldestFirst, timeout: Duration? = nil
    ) throws(NotifyError) -> StoredMessages {
        let query = try LogQuery(
            patterns: patterns, object: object, from: start, to: end, limit: limit, follows: follows, order: order)
        return StoredMessages(beginning: LogBeginning(client: self, query: query, timeout: timeout))
    }

    /// Reads messages as the overload with an array of patterns does.
    public func log(
        _ patterns: String..., from start: Start = .oldest, to end: Start? = nil, object: String? = nil,
        limit: Int? = nil, follows: Bool = false, order: LogOrder = .oldestFirst, timeout: Duration? = nil
    ) throws(NotifyError) -> StoredMessages {
        try log(
            patterns, from: start, to: end, object: object, limit: limit, follows: follows, order: order,
            timeout: timeout)
    }

    nonisolated(nonsending) func begin(
        _ query: LogQuery, until deadline: RequestDeadline
    ) async throws(NotifyError) -> LogCursor {
        let start = try await core.find(query.start, until: deadline, endsOnShutdown: query.follows)
        switch query.end {
        case .age, .time:
            return LogCursor(query, from: start, to: try await core.find(query.end ?? .now, until: deadline))
        default: return LogCursor(query, from: start, to: nil)
        }
    }
}
