import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire

/// What gathers for the next commit: encoded messages, changes to durable subscriptions, and the requests that wait for
/// the outcome.
struct PendingLog {
    /// A block with what each of its messages reached when it was posted.
    struct Part {
        var block = LogBlock()
        var resolutions: [Resolution] = []
    }

    /// A post that is answered when the outcome of its batch is known.
    struct Waiter {
        var connection: ConnectionID
        var wantsReceipt: Bool
        /// With the durability that is reached if the batch is committed.
        var receipt: Receipt
    }

    /// What follows the commit of a change to a durable subscription.
    enum Continuation {
        case attached(DurableID, Attachment)
        /// The subscription's last progress is in the batch.
        case detached(connection: ConnectionID, Detached)
        case removed(DurableID, connection: ConnectionID, request: UInt64)
    }

    /// Complete parts.
    private(set) var sealed: [Part] = []
    /// The part that posts are appended to.
    private(set) var open = Part()
    var waiters: [Waiter] = []
    /// Creations and removals. Progress is gathered when the batch is made.
    var changes: [DurableChange] = []
    var continuations: [Continuation] = []
    /// It must be flushed to disk.
    var isSynced = false
    /// Requests wait for it: it is committed as soon as the store is free.
    var isWanted = false
    /// Bytes of all messages in it.
    private(set) var bytes = 0

    /// Encodes a message and returns where it lies in the open block.
    mutating func append(_ stamp: Stamp, _ parts: MessageParts, _ resolution: Resolution) -> (start: Int, end: Int) {
        let start = open.block.frames.writerIndex
        let size = Deliver.append(stamp, parts, to: &open.block.frames)
        open.block.entries.append(
            LogBlock.Entry(sequence: stamp.sequence, offset: UInt32(start), length: UInt32(size)))
        open.resolutions.append(resolution)
        bytes += size
        isWanted = true
        return (start, start + size)
    }

    /// Ends the open block, and returns its bytes.
    mutating func cut() -> ByteBuffer {
        guard !open.block.entries.isEmpty else { return ByteBuffer() }
        let frames = open.block.frames
        sealed.append(open)
        open = Part()
        return frames
    }
}
