import DequeModule
import NIOCore
import NotifyWire

/// A part of the output in an outbox. The host takes each chunk as a whole.
struct Chunk {
    enum Content {
        /// Answers, which must arrive.
        case answer
        /// Durable runs, which must arrive.
        case run
        /// Volatile messages, which may be dropped.
        case droppable(MessageSpan)
        /// A gap: messages were dropped at this position. `bytes` is empty.
        case gap(MessageSpan)
    }

    /// A number of messages, with their lowest and highest sequence.
    struct MessageSpan: Equatable {
        var count: UInt64
        var first: UInt64
        var last: UInt64

        static func + (left: MessageSpan, right: MessageSpan) -> MessageSpan {
            MessageSpan(
                count: left.count + right.count, first: min(left.first, right.first), last: max(left.last, right.last))
        }
    }

    var content: Content
    var bytes: ByteBuffer
    /// The bytes charged to the connection: those of the chunk or, if the chunk keeps a shared block alive, its part of
    /// the memory of this block. Before ``Outbox/settle(isBlocked:in:)``, nothing is charged yet, and this is the
    /// memory of the whole block.
    var charge: Int
    /// The shared block that the chunk keeps alive; nil if the bytes are not shared.
    var block: SharedBlock?
    /// Keeps the block counted for the user while the chunk exists.
    var reference: BlockReference?

    var isDroppable: Bool {
        if case .droppable = content { true } else { false }
    }
}

extension Deque<Chunk> {
    /// The bytes that the chunks from an index on use of each shared block. Several chunks use the same block if
    /// messages of different blocks, such as stored and volatile ones, alternate.
    func usedBytesOfBlocks(from first: Int) -> [ObjectIdentifier: Int] {
        var used: [ObjectIdentifier: Int] = [:]
        for chunk in self[first...] {
            if let block = chunk.block { used[ObjectIdentifier(block), default: 0] += chunk.bytes.readableBytes }
        }
        return used
    }
}
