import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire

/// All output of the daemon: the tick's encoded messages, the open runs, and an outbox for each connection.
///
/// During a tick, outboxes collect spans of buffers that are still growing. At the end of the tick, `seal` turns the
/// spans into chunks.
struct Egress {
    /// The number of messages delivered in a tick, volatile and durable, and the number of redeliveries among them.
    struct Counts {
        var delivered: UInt64 = 0
        var redelivered: UInt64 = 0
    }

    /// Indexed by the connection's slot. The outbox of a free slot is empty.
    private var outboxes: ContiguousArray<Outbox> = []
    /// The touched connections: their outboxes have changed in this tick, so the end of the tick visits them.
    private var touched: [ConnectionSlot] = []
    /// Connections whose output was sealed at the end of the tick. The first ones were already returned by
    /// `nextToFlush`.
    private var sealed: [ConnectionSlot] = []
    private var sealedCursor = 0
    /// Whether the sealed connections are in the queue.
    private var isQueueing = false
    private var flushes = UserQueue<ConnectionID>()
    /// The budget of work for flushing.
    var flushBudget = FlushBudget()
    var pacer = OutputPacer()
    var unreadSockets = UnreadSockets()
    /// If more connections than this are to be flushed, they are flushed through the queue, so that users take turns.
    private static let unqueuedConnections = 64
    /// The size at which a block is sealed. Bounds the memory that a slow connection keeps alive with a slice of a
    /// block. A block fits into 256 KiB if its last message takes up to 16 KiB.
    static let blockBytes = 240 << 10

    private var volatileWriter = BlockWriter()
    /// The tick's sources: blocks of volatile messages and of the log, blocks of the tail ring, and pages. A source
    /// that is still being written is empty here.
    private var sources: [Source] = []
    /// The source of the volatile writer's block.
    private var volatileSource: UInt32?
    /// The source of the log's open block (see `PendingLog`); nil if no spans refer to the block. If spans do, the
    /// block must be sealed at the end of the tick.
    private var logSource: UInt32?
    /// Indexed by the reader's slot.
    private var openRuns: ContiguousArray<OpenRun?> = []
    private(set) var readersWithRuns: [ReaderID] = []
    private var counts = Counts()

    private var retainedBlocks: [UInt32: RetainedBlocks] = [:]

    // MARK: Connections

    /// The shared blocks kept alive by the user's connections.
    mutating func retainedBlocks(of uid: UInt32) -> RetainedBlocks {
        if let blocks = retainedBlocks[uid] { return blocks }
        let blocks = RetainedBlocks()
        retainedBlocks[uid] = blocks
        return blocks
    }

    /// Removes the record of the user's shared blocks, after the user's last connection was closed.
    mutating func removeRetainedBlocks(of uid: UInt32) { retainedBlocks[uid] = nil }

    mutating func open(_ slot: ConnectionSlot) {
        if slot.index == outboxes.count {
            outboxes.append(Outbox())
        } else {
            outboxes[slot.index] = Outbox(isTouched: outboxes[slot.index].isTouched)
        }
    }

    /// Drops everything in the outbox, including answers and durable messages.
    mutating func discard(_ slot: ConnectionSlot) {
        outboxes[slot.index].removeAll()
    }

    subscript(slot: ConnectionSlot) -> Outbox {
        @inline(__always) _read { yield outboxes[slot.index] }
        @inline(__always) _modify { yield &outboxes[slot.index] }
    }

    /// Adds the connection to the touched ones, whose outboxes are sealed and flushed at the end of the tick.
    @inline(__always)
    mutating func touch(_ slot: ConnectionSlot) {
        guard !outboxes[slot.index].isTouched else { return }
        outboxes[slot.index].isTouched = true
        touched.append(slot)
    }

    /// Must be called when a connection was closed, before its slot is used again.
    mutating func closed(_ slot: ConnectionSlot) {
        outboxes[slot.index] = .unused(isTouched: outboxes[slot.index].isTouched)
    }

    // MARK: Flushing

    /// Whether connections wait to be flushed in a later turn of the event loop, or in the rest of this one.
    @inline(__always)
    var isBehind: Bool { !flushes.isEmpty }

    /// Takes the next connection to flush, and begins its slice of work. When the budget of the turn is used up, the
    /// remaining connections touched in this tick are returned with an empty slice, and stay in the queue: nothing is
    /// written for them, but their waiting output is charged and limited (see `Broker.settle`).
    mutating func nextToFlush(_ connections: Connections) -> ConnectionID? {
        if !isQueueing, sealed.count > Self.unqueuedConnections || isBehind { queueSealed(connections) }
        while isQueueing, !flushBudget.isTurnOver, let id = flushes.next() {
            guard connections.contains(id), outboxes[id.index].isQueued else { continue }
            outboxes[id.index].isQueued = false
            flushBudget.beginSlice()
            return id
        }
        while sealedCursor < sealed.count {
            let slot = sealed[sealedCursor]
            sealedCursor += 1
            guard let id = connections.id(in: slot), !isQueueing || outboxes[slot.index].isQueued else { continue }
            if isQueueing { flushBudget.beginSettling() } else { flushBudget.beginSlice() }
            return id
        }
        sealed.removeAll(keepingCapacity: true)
        (sealedCursor, isQueueing) = (0, false)
        return nil
    }

    private mutating func queueSealed(_ connections: Connections) {
        isQueueing = true
        for slot in sealed {
            if let id = connections.id(in: slot) { queue(id, of: connections[slot].uid) }
        }
    }

    /// Adds a connection to the queue of connections to flush.
    mutating func queue(_ id: ConnectionID, of uid: UInt32) {
        guard !outboxes[id.index].isQueued else { return }
        outboxes[id.index].isQueued = true
        flushes.append(id, of: uid)
    }

    // MARK: Answers

    mutating func append(_ frame: some ControlFrame, to slot: ConnectionSlot) {
        outboxes[slot.index].appendOwn { frame.write(to: &$0) }
        touch(slot)
    }

    @inline(__always)
    mutating func append(receipt: Receipt, to slot: ConnectionSlot) {
        outboxes[slot.index].appendOwn { receipt.append(to: &$0) }
        touch(slot)
    }

    /// Appends an answer that is written in place.
    mutating func append(to slot: ConnectionSlot, _ write: (inout ByteBuffer) -> Void) {
        outboxes[slot.index].appendOwn { write(&$0) }
        touch(slot)
    }

    /// Appends an answer and the messages of a block that belong to it.
    mutating func append(_ header: some ControlFrame, _ block: LogBlock, to slot: ConnectionSlot) {
        append(header, to: slot)
        guard !block.entries.isEmpty else { return }
        outboxes[slot.index].append(block, in: addSource(block.frames))
    }

    // MARK: Volatile messages

    /// Encodes a volatile message and returns its position.
    mutating func encode(_ stamp: Stamp, _ parts: MessageParts) -> OutboxSpan.SourceRange {
        if volatileWriter.buffer.writerIndex >= Self.blockBytes { endVolatileBlock() }
        let source = volatileSource ?? beginVolatileBlock()
        let range = volatileWriter.append(stamp, parts)
        return OutboxSpan.SourceRange(source: source, start: range.start, end: range.end)
    }

    private mutating func beginVolatileBlock() -> UInt32 {
        let source = addUnfinishedSource()
        volatileSource = source
        return source
    }

    private mutating func addUnfinishedSource() -> UInt32 {
        sources.append(.unfinished)
        return UInt32(sources.count - 1)
    }

    private mutating func endVolatileBlock() {
        guard let source = volatileSource.take() else { return }
        sources[Int(source)] = Source(volatileWriter.seal())
    }

    /// Returns the position of a message in the log's open block as a range of one of the tick's sources.
    mutating func rangeInOpenBlock(_ range: (start: Int, end: Int)) -> OutboxSpan.SourceRange {
        let source = logSource ?? addUnfinishedSource()
        logSource = source
        return OutboxSpan.SourceRange(source: source, start: range.start, end: range.end)
    }

    /// Whether outboxes hold spans of the log's open block. If so, the block must be sealed and passed to
    /// `openBlockEnded` at the end of the tick.
    var usesOpenBlock: Bool { logSource != nil }

    /// Sets the bytes of the source for the log's open block, after the block was sealed.
    mutating func openBlockEnded(_ frames: ByteBuffer) {
        guard let source = logSource.take() else { return }
        sources[Int(source)] = Source(frames)
    }

    /// Adds an encoded message to the outboxes of the volatile subscribers: the first `count` registrations.
    @inline(__always)
    mutating func fanOut(_ resolution: Resolution, count: Int, _ range: OutboxSpan.SourceRange, sequence: UInt64) {
        guard count > 0 else { return }
        Self.fanOut(resolution, count, range, sequence, &outboxes, &touched)
    }

    @inline(__always)
    private static func fanOut(
        _ resolution: Resolution, _ count: Int, _ range: OutboxSpan.SourceRange, _ sequence: UInt64,
        _ outboxes: inout ContiguousArray<Outbox>, _ touched: inout [ConnectionSlot]
    ) {
        // Checks once whether the array is uniquely referenced, not once per delivery.
        outboxes.withUnsafeMutableBufferPointer { outboxes in
            for index in 0..<count {
                let slot = resolution.registrations[index].connection
                // If the message extends the last span, the outbox was already touched when the span was added.
                guard
                    outboxes[slot.index].appendVolatile(
                        source: range.source, start: range.start, end: range.end, sequence: sequence),
                    !outboxes[slot.index].isTouched
                else { continue }
                outboxes[slot.index].isTouched = true
                touched.append(slot)
            }
        }
    }

    // MARK: Runs

    /// Adds a complete buffer as a source for this tick.
    mutating func addSource(_ buffer: ByteBuffer) -> UInt32 {
        sources.append(Source(buffer))
        return UInt32(sources.count - 1)
    }

    /// Appends messages of a source to the reader's open run.
    mutating func extendRun(
        of reader: ReaderID, with frames: OpenRun.Frames, in source: UInt32, to destination: OpenRun.Destination
    ) {
        let index = reader.index
        outboxes[destination.connection.index].noteRun(bytes: UInt32(frames.end - frames.start))
        while index >= openRuns.count { openRuns.append(nil) }
        if openRuns[index] != nil {
            if openRuns[index]?.extend(with: frames, in: source, to: destination) == true { return }
            closeRun(of: reader)
        } else {
            readersWithRuns.append(reader)
        }
        openRuns[index] = OpenRun(frames, in: source, to: destination)
    }

    /// Moves all open runs into their outboxes.
    mutating func closeRuns() {
        for reader in readersWithRuns { closeRun(of: reader) }
        readersWithRuns.removeAll(keepingCapacity: true)
    }

    private mutating func closeRun(of reader: ReaderID) {
        guard let run = openRuns[reader.index] else { return }
        openRuns[reader.index] = nil
        let slot = run.destination.connection
        outboxes[slot.index].append(run, of: sources[Int(run.source)])
        if run.destination.isRedelivery { counts.redelivered += UInt64(run.count) }
        touch(slot)
    }

    // MARK: The end of a tick

    /// Turns the tick's spans into chunks that the host can take, and begins the budget for flushing them.
    ///
    /// - Returns: The numbers of messages delivered since the last call.
    mutating func seal() -> Counts {
        endVolatileBlock()
        flushBudget.beginTurn()
        swap(&sealed, &touched)
        // Taken out, because an access to a property would retain the array for each outbox.
        var finished = exchange(&sources, with: [])
        for slot in sealed {
            outboxes[slot.index].isTouched = false
            let added = outboxes[slot.index].seal(finished)
            counts.delivered += added.volatile + added.durable
        }
        finished.removeAll(keepingCapacity: true)
        sources = finished
        defer { counts = Counts() }
        return counts
    }
}
