import NotifyCenter
import NotifyWire

extension NotifyClient {
    /// What ``purge(_:before:)`` has deleted.
    public struct PurgeResult: Hashable, Sendable {
        /// The number of deleted messages.
        public let messages: UInt64
        /// The bytes that they took in the daemon's log.
        public let bytes: UInt64
        /// The number of durable subscriptions that lost messages which they had not acknowledged. Each of them gets a
        /// ``Gap``.
        public let subscriptions: Int

        init(_ purged: Purged) {
            messages = purged.messages
            bytes = purged.bytes
            subscriptions = Int(purged.subscriptions)
        }
    }

    /// Deletes stored messages, also those that durable subscriptions have not acknowledged.
    ///
    /// Messages that are posted meanwhile remain. A purge continues to its end even if this client is stopped.
    ///
    /// - Parameters:
    ///   - patterns: The patterns of names to match, 1 to 64. This user must have the right to manage every name that
    ///     they match.
    ///   - end: The position of the first message to keep; `nil` to delete all.
    /// - Throws: ``NotifyError``, such as `forbidden`; `outcomeUnknown` if the connection is lost before the answer.
    public nonisolated(nonsending) func purge(
        _ patterns: [String], before end: Start? = nil
    ) async throws(NotifyError) -> PurgeResult {
        let spec = try SubscriptionSpec(patterns: patterns, object: nil, kind: .volatile(), limit: nil)
        var purge = Purge(request: 0, patterns: spec.patterns.map(\.string))
        if let end { purge.before = try await core.find(try end.position()).sequence }
        return try await ask { [purge] in .purge(purge, $0) }
    }
}
