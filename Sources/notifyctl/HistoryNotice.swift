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
        _ client: NotifyClient, since start: NotifyClient.Start, _ patterns: [String], object: String?
    ) async throws -> String? {
        guard case .time(let start) = start.fixed(at: Date()) else { return nil }
        do {
            return text(oldest: try await oldestDate(client, patterns, object: object), since: start)
        } catch  where error.code == .forbidden {
            // This user may not receive every name.
            return nil
        }
    }

    /// When the oldest stored message was posted; nil if none is stored.
    private static func oldestDate(
        _ client: NotifyClient, _ patterns: [String], object: String?
    ) async throws(NotifyError) -> Date? {
        var events = try client.log(patterns, object: object, limit: 1).makeAsyncIterator()
        while let event = try await events.next() {
            if case .message(let message) = event { return message.date }
        }
        return nil
    }

    static func text(oldest: Date?, since start: Date) -> String? {
        let rule = "by default, messages are deleted 24 hours after they were read: see log.retention"
        guard let oldest else { return "no such message is stored; \(rule)" }
        return oldest > start ? "no such message is stored from before \(Timestamp.seconds(oldest)); \(rule)" : nil
    }
}
