import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire

/// The pending content of the next batch: encoded messages, changes to durable subscriptions, and the requests that
/// wait for the outcome. Messages are appended to the open block until it is sealed: when it is full, when the batch
/// begins, or at the end of a tick in which outboxes refer to its bytes.
struct PendingLog {
    /// A block of messages, and the resolution with which each of them was posted.
    struct Part {
        var block = LogBlock()
        var resolutions: [Resolution] = []
    }

    /// A post that is answered when the outcome of its batch is known.
    struct Waiter {
        var connection: ConnectionID
        var wantsReceipt: Bool
        /// The receipt to send if the batch is committed.
        var receipt: Receipt
    }

    /// A request that is completed or refused when the outcome of its batch is known.
    enum Continuation {
        case attached(DurableID, Attachment)
        /// The identity of an existing member. The log keeps only the last eight identities, so a member's identity is
        /// recorded again before a new one, which could push it out.
        case identityKept(DurableID, IdentityID)
        /// The creation of a subscription without an attachment.
        ///
        /// - existed: Whether an earlier request has created the subscription.
        case created(DurableID, connection: ConnectionID, request: UInt64, existed: Bool)
        /// A detach request. The batch contains the progress at the time of the detach.
        case detached(connection: ConnectionID, Detached)
        case removed(DurableID, connection: ConnectionID, request: UInt64)
        /// A reset, an edit or new settings.
        case changed(DurableID, connection: ConnectionID, request: UInt64)
        /// The messages of a subscription that become dead letters.
        case deadLettered(DurableID, sequences: [UInt64])
        /// Dead letters that are delivered again or deleted.
        case deadLetters(DeadLetterWork)
        /// The removal of a subscription that has been without a client for too long.
        case expired(DurableID)
        /// The requests that wait to learn whether storing works.
        case probed
        /// A change of a value that is refused because another change in the batch has preceded it.
        ///
        /// - current: The sequence of the value after the batch; 0 if there is none.
        case valueRefused(ConnectionID, request: UInt64, current: UInt64)
        /// A value that is cleared, or that another change in the batch has cleared before.
        case valueCleared(ConnectionID, ValuesCleared)
        /// The will of a client that has disconnected.
        case will
        /// A request that clears the values of patterns. The batch clears the values of one page.
        case clearing(ValueRead)
    }

    /// The parts whose blocks are sealed: nothing is appended to them any more.
    private(set) var sealed: [Part] = []
    /// The part with the open block, to which messages are appended.
    private(set) var open = Part()
    var waiters: [Waiter] = []
    /// The changes to durable subscriptions and their messages. Progress is added when the batch is passed to the
    /// store.
    var changes: [DurableChange] = []
    /// The number of `countDeleted` changes: new subscriptions for which the store counts the deleted messages after
    /// their start. Limited for each batch.
    var deletionCounts = 0
    private(set) var continuations: [Continuation] = []
    /// Whether the batch must be flushed to disk.
    var isSynced = false
    /// Whether the batch is to be committed as soon as the store is free.
    var isRequested = false
    /// Whether the batch must contain the progress, even if it is not due.
    var isProgressRequested = false
    /// The memory of the pending content, in bytes.
    private(set) var bytes = 0
    /// The part of `bytes` that is charged to each user.
    private(set) var charges: [UInt32: Int] = [:]
    private var lastResolution: Resolution?

    /// The memory of a message without its frame: entry, waiter, and reference to the resolution.
    private static let messageBytes = 128
    /// The memory of a change and its continuation, without the contents of the change.
    private static let changeBytes = 512

    /// Encodes a message, and returns its position in the open block.
    mutating func append(_ stamp: Stamp, _ parts: MessageParts, _ resolution: Resolution) -> (start: Int, end: Int) {
        let start = open.block.frames.writerIndex
        let size = Delivery.append(stamp, parts, to: &open.block.frames)
        open.block.entries.append(
            LogBlock.Entry(sequence: stamp.sequence, offset: UInt32(start), length: UInt32(size)))
        open.resolutions.append(resolution)
        bytes += size + Self.messageBytes
        if resolution !== lastResolution {
            bytes += resolution.byteCount
            lastResolution = resolution
        }
        isRequested = true
        return (start, start + size)
    }

    /// Whether the batch contains only messages, so that it may begin without the progress.
    var isOnlyMessages: Bool { changes.isEmpty && continuations.isEmpty && !isProgressRequested }

    /// Whether the batch contains dead letters that replace copies.
    var hasDeadLetters: Bool { continuations.contains { if case .deadLettered = $0 { true } else { false } } }

    /// Adds a change, if there is one, and the continuation for the outcome.
    mutating func append(_ change: DurableChange?, then continuation: Continuation) {
        if let change { append(change) }
        continuations.append(continuation)
        bytes += Self.changeBytes
    }

    mutating func append(_ change: DurableChange) {
        changes.append(change)
        bytes += change.byteCount
    }

    /// Takes the requests of the batch that create the subscription.
    mutating func takeCreations(of id: DurableID) -> [(connection: ConnectionID, request: UInt64)] {
        var taken: [(connection: ConnectionID, request: UInt64)] = []
        continuations.removeAll { continuation in
            guard case .created(id, let connection, let request, _) = continuation else { return false }
            taken.append((connection, request))
            return true
        }
        return taken
    }

    /// The sequence of the first message; nil if there is none.
    var firstSequence: UInt64? { (sealed.first ?? open).block.entries.first?.sequence }

    /// Charges a user for bytes added by its requests.
    mutating func charge(_ bytes: Int, to uid: UInt32) {
        charges[uid, default: 0] += bytes
    }

    /// The pending messages.
    var blocks: [LogBlock] { sealed.map(\.block) + [open.block] }

    /// The number and bytes of each user's pending messages.
    var usage: UsageSum {
        var usage = UsageSum()
        for block in blocks { usage.add(block) }
        return usage
    }

    /// Seals the open block, and returns its bytes. The next message begins a new block.
    mutating func sealOpenBlock() -> ByteBuffer {
        guard !open.block.entries.isEmpty else { return ByteBuffer() }
        let frames = open.block.frames
        sealed.append(open)
        open = Part()
        return frames
    }
}
