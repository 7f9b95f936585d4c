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
    private(set) var continuations: [Continuation] = []
    /// It must be flushed to disk.
    var isSynced = false
    /// Requests wait for it: it is committed as soon as the store is free.
    var isWanted = false
    /// The memory of all that is in it.
    private(set) var bytes = 0
    /// What each user is charged with for it.
    private(set) var charges: [UInt32: Int] = [:]
    private var lastResolution: Resolution?

    /// What a message takes beside its bytes: entry, waiter, resolution.
    private static let messageBytes = 128
    /// What a change takes with its continuation, filters aside.
    private static let changeBytes = 512

    /// Encodes a message and returns where it lies in the open block.
    mutating func append(_ stamp: Stamp, _ parts: MessageParts, _ resolution: Resolution) -> (start: Int, end: Int) {
        let start = open.block.frames.writerIndex
        let size = Deliver.append(stamp, parts, to: &open.block.frames)
        open.block.entries.append(
            LogBlock.Entry(sequence: stamp.sequence, offset: UInt32(start), length: UInt32(size)))
        open.resolutions.append(resolution)
        bytes += size + Self.messageBytes
        if resolution !== lastResolution {
            bytes += resolution.byteCount
            lastResolution = resolution
        }
        isWanted = true
        return (start, start + size)
    }

    /// Adds a change and what follows its commit.
    mutating func append(_ change: DurableChange?, then continuation: Continuation) {
        if let change {
            changes.append(change)
            bytes += change.byteCount
        }
        continuations.append(continuation)
        bytes += Self.changeBytes
    }

    /// Charges a user with what it added.
    mutating func charge(_ bytes: Int, to uid: UInt32) {
        charges[uid, default: 0] += bytes
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
