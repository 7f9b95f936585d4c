import FoundationEssentials
import NotifyClient

/// The notice of `log` that messages of the requested time may be missing.
enum HistoryNotice {
    /// The requested range.
    struct Request: Sendable {
        var patterns: [String]
        var object: String?
        /// The start of the request. Only an age or a time is compared: a log that is read from a sequence reports
        /// deletions itself.
        var from: NotificationClient.Start
        var to: NotificationClient.Start?
    }

    /// Compares the stored messages with the time from which messages were requested.
    ///
    /// - Parameter isFound: Whether a message was found. If so, the oldest message of all names is compared.
    /// - Returns: The notice that nothing is stored, or that older messages were deleted; nil if neither is known.
    static func find(
        _ client: NotificationClient, _ request: Request, isFound: Bool, _ times: TimeStyle
    ) async throws -> String? {
        guard case .time(let start) = request.from.fixed(at: Date()) else { return nil }
        do {
            var compared = Request(patterns: request.patterns, object: request.object, from: .sequence(1))
            if isFound { (compared.patterns, compared.object) = ([">"], nil) }
            let (oldest, hasDeletions) = try await beginning(client, compared)
            if let text = text(oldest: oldest, since: start, hasDeletions: hasDeletions, times) { return text }
            guard let oldest, oldest <= start else { return nil }
            return try await missing(client, request, since: start, times)
        } catch let error as NotifyError where error.code == .forbidden {
            // This user may not receive every name.
            return nil
        }
    }

    /// The time of the oldest stored message, nil if none is stored; and whether messages before it were deleted.
    private static func beginning(
        _ client: NotificationClient, _ request: Request
    ) async throws -> (oldest: Date?, hasDeletions: Bool) {
        var oldest: NotificationClient.Message?
        var hasDeletions = false
        // A log that is read from a sequence reports the deletions after that sequence. A log that is read from the
        // oldest message does not.
        let messages = try client.log(
            request.patterns, from: request.from, to: request.to, object: request.object, limit: 1)
        for try await event in messages {
            switch event {
            case .message(let message): oldest = message
            case .gap(let gap): hasDeletions = hasDeletions || gap.reason == .deleted
            }
        }
        return (oldest?.date, hasDeletions)
    }

    /// The notice of deletions between the last message before the start and the first message that was found; nil if
    /// there were none. The times of the deleted messages are unknown.
    private static func missing(
        _ client: NotificationClient, _ request: Request, since start: Date, _ times: TimeStyle
    ) async throws -> String? {
        for try await event in try client.log([">"], to: .time(start), limit: 1, order: .newestFirst) {
            guard case .message(let earlier) = event else { continue }
            var request = request
            request.from = .sequence(earlier.sequence + 1)
            guard try await beginning(client, request).hasDeletions else { return nil }
            return "messages may be missing: some that were posted after \(times.text(earlier.date)) were deleted, "
                + reason
        }
        return nil
    }

    private static let reason = "by the rules of log.retention or by a purge"

    static func text(oldest: Date?, since start: Date, hasDeletions: Bool, _ times: TimeStyle) -> String? {
        if let oldest, oldest <= start || !hasDeletions { return nil }
        let age = oldest.map { " from before \(times.text($0))" } ?? ""
        let reason = hasDeletions ? ": older ones were deleted, \(reason)" : ""
        return "no such message is stored\(age)\(reason)"
    }
}
