import NotifyWire

extension NotificationClient.Administration {
    /// Sums up the messages of the daemon's log by name, to see which names fill the disk.
    ///
    /// Only stored messages are counted, and only names that this user may receive. Posts and deletions continue while
    /// the daemon counts, so the result is not a snapshot of one moment.
    ///
    /// - Parameters:
    ///   - patterns: The patterns of names to match, 1 to 64.
    ///   - start: The position of the first message.
    ///   - end: The end, as for
    ///     ``NotificationClient/log(_:from:to:object:limit:follows:order:timeout:)-([String],_,_,_,_,_,_,_)``.
    ///   - limit: The maximum number of names to return, at most 10,000. Names with more bytes come first.
    /// - Throws: ``NotifyError``, such as `forbidden` if this user may not receive a pattern.
    public nonisolated(nonsending) func logSummary(
        _ patterns: [String] = [">"], from start: NotificationClient.Start = .oldest,
        to end: NotificationClient.Start? = nil, limit: Int? = nil
    ) async throws(NotifyError) -> LogSummary {
        let query = try LogQuery(patterns: patterns, object: nil, from: start, to: end, limit: limit, follows: false)
        let deadline = client.core.deadline(after: timeout)
        let cursor = try await client.begin(query, until: deadline)
        guard !cursor.isAtEnd else { return LogSummary([]) }
        let entries = try await client.core.retrying(until: deadline) {
            FrameCall(cursor.summaryRequest, timeout: $0)
        }
        return LogSummary(entries)
    }
}
