import NotifyCenter
import NotifyWire

extension NotificationClient.Administration {
    /// The result of ``purge(_:before:)``.
    public struct PurgeResult: Hashable, Sendable {
        /// The number of deleted messages, dead letters included.
        public let messages: UInt64
        /// The bytes that the messages took in the daemon's log.
        public let bytes: UInt64
        /// The number of durable subscriptions that lost messages which they had not acknowledged. Each of them gets a
        /// ``NotificationClient/Gap``.
        public let subscriptions: Int
        /// The number of deleted copies: messages that a durable subscription would have received again after a
        /// failure.
        public let redeliveries: UInt64

        init(_ purged: Purged) {
            messages = purged.messages
            bytes = purged.bytes
            subscriptions = Int(purged.subscriptions)
            redeliveries = purged.copies
        }
    }

    /// The sequence of the next message: the end of a ``purge(_:before:)`` of the messages posted so far.
    package nonisolated(nonsending) func nextSequence() async throws(NotifyError) -> UInt64 {
        try await client.core.find(.now, until: client.core.deadline(after: timeout)).sequence
    }

    /// Deletes stored messages, even if durable subscriptions have not acknowledged them. Deletes their dead letters,
    /// too, and the copies of messages that wait for their next delivery after a failure.
    ///
    /// A client that is processing a deleted message keeps it, but the message is not delivered again if it fails.
    /// Messages that are posted meanwhile remain. A purge continues to its end even if this client is stopped.
    ///
    /// - Parameters:
    ///   - patterns: The patterns of names to match, 1 to 64. This user must have the right to manage every name that
    ///     they match.
    ///   - end: The position of the first message to keep; `nil` to delete all.
    /// - Throws: ``NotifyError``, such as `forbidden`; `outcomeUnknown` if the connection is lost before the answer.
    public nonisolated(nonsending) func purge(
        _ patterns: [String], before end: NotificationClient.Start? = nil
    ) async throws(NotifyError) -> PurgeResult {
        let spec = try SubscriptionSpec(patterns: patterns, object: nil, kind: .volatile(), limit: nil)
        var purge = Purge(patterns: spec.patterns.map(\.string))
        let deadline = client.core.deadline(after: timeout)
        if let end { purge.before = try await client.core.find(try end.position(), until: deadline).sequence }
        return PurgeResult(try await client.ask(purge, timeout: deadline.left))
    }
}
