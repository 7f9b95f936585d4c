import FoundationEssentials
import NotifyClient

/// The notice of `log` that messages of the requested time are not stored any more.
enum HistoryNotice {
    /// Compares the oldest stored message with the time from which messages were requested.
    ///
    /// - Parameters:
    ///   - start: Where the request began. Only ages and times are compared, because sequences have holes.
    ///   - patterns: The names of the messages to compare with.
    /// - Returns: Nil if there is an older message, or if there are messages and none was deleted.
    static func find(
        _ client: NotificationClient, since start: NotificationClient.Start, _ patterns: [String], object: String?,
        _ times: TimeStyle
    ) async throws -> String? {
        guard case .time(let start) = start.fixed(at: Date()) else { return nil }
        do {
            let (oldest, hasDeletions) = try await beginning(client, patterns, object: object)
            return text(oldest: oldest, since: start, hasDeletions: hasDeletions, times)
        } catch let error as NotifyError where error.code == .forbidden {
            // This user may not receive every name.
            return nil
        }
    }

    /// When the oldest stored message was posted, nil if none is stored; and whether messages before it were deleted.
    private static func beginning(
        _ client: NotificationClient, _ patterns: [String], object: String?
    ) async throws -> (oldest: Date?, hasDeletions: Bool) {
        var oldest: NotificationClient.Message?
        var hasDeletions = false
        // Unlike a reading from the oldest message, one from a sequence reports what was deleted from there on.
        for try await event in try client.log(patterns, from: .sequence(1), object: object, limit: 1) {
            switch event {
            case .message(let message): oldest = message
            case .gap(let gap): hasDeletions = hasDeletions || gap.reason == .deleted
            }
        }
        return (oldest?.date, hasDeletions)
    }

    static func text(oldest: Date?, since start: Date, hasDeletions: Bool, _ times: TimeStyle) -> String? {
        if let oldest, oldest <= start || !hasDeletions { return nil }
        let age = oldest.map { " from before \(times.text($0))" } ?? ""
        let reason = hasDeletions ? ": older ones were deleted, by the rules of log.retention or by a purge" : ""
        return "no such message is stored\(age)\(reason)"
    }
}
