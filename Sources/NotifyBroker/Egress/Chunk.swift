import NIOCore
import NotifyWire

/// Bytes that wait for a connection to take them.
struct Chunk {
    enum Content {
        /// Answers and durable runs: they must arrive.
        case kept
        /// Volatile messages: they may be dropped.
        case droppable(Missed)
        /// A place where messages were dropped; `bytes` is empty.
        case gap(Missed)
    }

    /// How many messages, and the sequences of the first and the last.
    struct Missed: Equatable {
        var count: UInt64
        var first: UInt64
        var last: UInt64

        static func + (left: Missed, right: Missed) -> Missed {
            Missed(
                count: left.count + right.count, first: min(left.first, right.first), last: max(left.last, right.last))
        }
    }

    var content: Content
    var bytes: ByteBuffer
    /// What is charged to its connection for it: its own bytes, or the whole block that it keeps alive.
    var charge: Int
    /// The block that it keeps alive; nil where the bytes are its own.
    var block: SharedBlock?
    /// Counts the block for the user, while the chunk waits.
    var hold: BlockHold?

    var isDroppable: Bool {
        if case .droppable = content { true } else { false }
    }
}
