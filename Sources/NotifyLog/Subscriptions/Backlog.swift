/// The stored messages that a durable subscription has not acknowledged. Copies of messages are not counted.
package struct Backlog: Equatable, Sendable {
    package var messages: UInt64
    /// The bytes of the messages, as in `StoredUsage`.
    package var bytes: UInt64
    /// The time of the oldest message, in microseconds since 1970; nil if there is none. May be too early, by at most
    /// the duration of a segment.
    package var oldestMicroseconds: UInt64?
    /// The time of the oldest message with a copy that is to be delivered again; nil if there is none.
    package var oldestCopyMicroseconds: UInt64?
    /// Whether some of the messages might not be for the subscription, or may be acknowledged.
    package var isUpperBound: Bool
    /// The time without an attached client, in microseconds of the log's time; 0 while a client is attached.
    package var unusedMicroseconds: UInt64

    package init(
        messages: UInt64 = 0, bytes: UInt64 = 0, oldestMicroseconds: UInt64? = nil,
        oldestCopyMicroseconds: UInt64? = nil, isUpperBound: Bool = false, unusedMicroseconds: UInt64 = 0
    ) {
        self.unusedMicroseconds = unusedMicroseconds
        self.messages = messages
        self.bytes = bytes
        self.oldestMicroseconds = oldestMicroseconds
        self.oldestCopyMicroseconds = oldestCopyMicroseconds
        self.isUpperBound = isUpperBound
    }
}
