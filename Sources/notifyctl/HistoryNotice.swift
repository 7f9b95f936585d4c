import FoundationEssentials
import NotifyClient

/// The notice of `log` that messages of the requested time are not stored any more.
enum HistoryNotice {
    /// Compares the oldest stored message with the time from which messages were requested.
    ///
    /// - Parameters:
    ///   - start: Where the request began. Only ages and times are compared, because sequences have holes.
    ///   - patterns: The names of the messages to compare with.
    /// - Returns: Nil if there is an older message.
    static func find(
        _ client: NotificationClient, since start: NotificationClient.Start, _ patterns: [String], object: String?,
        _ times: TimeStyle
    ) async throws -> String? {
        guard case .time(let start) = start.fixed(at: Date()) else { return nil }
        let oldest: Date?
        do {
            oldest = try await oldestDate(client, patterns, object: object)
        } catch let error as NotifyError where error.code == .forbidden {
            // This user may not receive every name.
            return nil
        }
        let counters = try await client.administration.statistics().counters
        let deleted = counters.first { $0.name == "deleted_messages" }?.value ?? 0
        return text(oldest: oldest, since: start, deleted: deleted, times)
    }

    /// When the oldest stored message was posted; nil if none is stored.
    private static func oldestDate(
        _ client: NotificationClient, _ patterns: [String], object: String?
    ) async throws -> Date? {
        var events = try client.log(patterns, object: object, limit: 1).makeAsyncIterator()
        while let event = try await events.next() {
            if case .message(let message) = event { return message.date }
        }
        return nil
    }

    /// - Parameter deleted: The number of messages that the daemon has deleted since its start, of all names.
    static func text(oldest: Date?, since start: Date, deleted: UInt64, _ times: TimeStyle) -> String? {
        if let oldest, oldest <= start { return nil }
        let age = oldest.map { " from before \(times.text($0))" } ?? ""
        let rule =
            deleted == 0
            ? "" : "; since its start, notifyd has deleted messages, by the rules of log.retention or by a purge"
        return "no such message is stored\(age)\(rule)"
    }
}
