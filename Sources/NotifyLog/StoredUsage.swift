package import NotifyWire

/// A number of messages in the log, and the bytes that they take.
///
/// A message takes the bytes of its parts (payload, headers, object, name and id) and `messageOverhead`. The sum is the
/// length of the message's frame in a `LogBlock`, and approximates the size of its row in the database. The database
/// contains totals of these sizes, so a change of the definition needs a migration.
package struct StoredUsage: Equatable, Sendable {
    package var messages: Int
    package var bytes: Int
    /// The bytes of dead letters among `bytes`.
    package var deadLetterBytes: Int

    /// The bytes that a message takes in addition to those of its parts.
    package static let messageOverhead = FrameHeader.size + Delivery.fixedSize

    package init(messages: Int = 0, bytes: Int = 0, deadLetterBytes: Int = 0) {
        self.messages = messages
        self.bytes = bytes
        self.deadLetterBytes = deadLetterBytes
    }

    /// The usage of messages of one name.
    package init(messages: Int = 1, bytes: Int, name: UnsafeRawBufferPointer) {
        let isDeadLetter = DeadLetterHeaders.isDeadLetter(name)
        self.init(messages: messages, bytes: bytes, deadLetterBytes: isDeadLetter ? bytes : 0)
    }

    /// The bytes of the messages that the user has posted, without dead letters.
    package var postedBytes: Int { bytes - deadLetterBytes }

    /// The bytes that a message with these parts takes.
    @inlinable
    package static func bytes(of parts: MessageParts) -> Int { messageOverhead + parts.byteCount }

    package static func + (left: StoredUsage, right: StoredUsage) -> StoredUsage {
        var sum = left
        sum += right
        return sum
    }

    package static func += (left: inout StoredUsage, right: StoredUsage) {
        left.messages += right.messages
        left.bytes += right.bytes
        left.deadLetterBytes += right.deadLetterBytes
    }

    package static prefix func - (usage: StoredUsage) -> StoredUsage {
        StoredUsage(messages: -usage.messages, bytes: -usage.bytes, deadLetterBytes: -usage.deadLetterBytes)
    }
}
