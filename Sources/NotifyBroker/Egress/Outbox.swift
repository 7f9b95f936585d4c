import DequeModule
import NIOCore
import NotifyWire

/// The output of one connection. This type takes 128 bytes, so that indexing the array of outboxes is a shift.
///
/// During a tick, an outbox collects spans of buffers that are still growing. At the end of the tick, `seal` turns the
/// spans into chunks. The host takes the chunks for which the socket has room, and `settle` charges the rest.
struct Outbox {
    private var last = OutboxSpan.none
    private var spans: [OutboxSpan] = []
    private(set) var own = ByteBuffer()
    private(set) var chunks: Deque<Chunk> = []
    /// The number of chunks, at the end of `chunks`, that `settle` has not charged yet.
    private var unsettledCount: UInt32 = 0
    /// Bytes of stored messages added since the last `settle`.
    private var runs: UInt32 = 0
    /// The bytes charged for settled chunks outside of shared blocks.
    private var ownWaitingBytes: UInt32 = 0
    /// Whether the connection is in the list of touched connections, which the end of the tick visits.
    var isTouched = false
    /// Whether the outbox is in the queue of outboxes to flush.
    var isQueued = false

    /// The bytes charged for settled droppable chunks.
    private(set) var droppableBytes = 0
    /// The bytes charged for settled answers.
    private var answers: UInt32 = 0
    private var settledRuns: UInt32 = 0
    private let taken: TakenChunks

    /// Whether the host can take bytes.
    var hasOutput: Bool { !chunks.isEmpty }
    var isEmpty: Bool { chunks.isEmpty && spans.isEmpty && last.end == last.start }
    /// Bytes that wait in the outbox or for the socket, without shared blocks, which are counted per user.
    var ownBytes: Int { Int(ownWaitingBytes) + taken.ownBytes }
    /// The bytes charged for settled chunks that must arrive.
    var reliableBytes: Int { Int(answers) + Int(settledRuns) }
    /// The bytes charged for settled answers.
    var answerBytes: Int { Int(answers) }
    /// Bytes of settled answers and stored messages, and of stored messages added since the last `settle`.
    var runBytes: Int { reliableBytes + Int(runs) }

    /// The bytes charged for settled messages and answers.
    var waitingBytes: Int { droppableBytes + reliableBytes }
    /// Messages added since the connection was opened, dropped ones included.
    var messageCount: UInt64 { taken.messageCount }

    private var unsettled: Int {
        get { Int(unsettledCount) }
        set { unsettledCount = UInt32(newValue) }
    }

    /// Counts the bytes of stored messages that are about to be appended.
    mutating func noteRun(bytes: UInt32) {
        runs = runs.addingReportingOverflow(bytes).overflow ? .max : runs + bytes
    }
    /// The bytes charged for settled answers, plus the bytes of this tick's answers and run headers.
    @inline(__always)
    var unreadAnswerBytes: Int { Int(answers) + own.writerIndex - taken.copiedRunBytes }

    // MARK: During a tick

    /// Appends a volatile message in a source that is still growing.
    ///
    /// - Returns: False if the message extends this tick's last span.
    @inline(__always)
    @discardableResult
    mutating func appendVolatile(source: UInt32, start: Int, end: Int, sequence: UInt64) -> Bool {
        if last.source == source, last.end == start, last.droppable > 0 {
            last.end = end
            last.droppable &+= 1
            last.last = sequence
            return false
        }
        begin(
            OutboxSpan(
                source: source, start: start, end: end, droppable: 1, durable: 0, first: sequence, last: sequence))
        return true
    }

    /// Deliver frames up to this size are copied behind the header of their run. A copy takes less time than another
    /// buffer for the socket.
    private static let copiedRunBytes = 1 << 10

    /// Appends a run: its header and its deliver frames.
    mutating func append(_ run: OpenRun, of source: Egress.Source) {
        let count = run.end - run.start
        guard count > Self.copiedRunBytes else {
            appendOwn(isAnswer: false, durable: run.count) { own in
                run.writeHeader(to: &own)
                source.buffer.withVeryUnsafeBytes { bytes in
                    _ = own.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[run.start..<run.end]))
                }
            }
            taken.copiedRunBytes += count
            return
        }
        appendOwn(isAnswer: false) { run.writeHeader(to: &$0) }
        begin(
            OutboxSpan(
                source: run.source, start: run.start, end: run.end, droppable: 0, durable: run.count, first: 0, last: 0)
        )
    }

    /// Appends bytes for this connection alone.
    ///
    /// - Parameter durable: The number of stored messages among the bytes, for statistics.
    @inline(__always)
    mutating func appendOwn(isAnswer: Bool = true, durable: UInt32 = 0, _ write: (inout ByteBuffer) -> Void) {
        let start = own.writerIndex
        write(&own)
        if last.source == OutboxSpan.own, last.end == start, last.isAnswer == isAnswer {
            last.end = own.writerIndex
            last.durable += durable
        } else {
            begin(
                OutboxSpan(
                    source: OutboxSpan.own, isAnswer: isAnswer, start: start, end: own.writerIndex, droppable: 0,
                    durable: durable, first: 0, last: 0))
        }
    }

    mutating func begin(_ span: OutboxSpan) {
        if last.end > last.start { spans.append(last) }
        last = span
    }

    // MARK: At the end of a tick

    /// Turns the tick's spans into chunks.
    ///
    /// - Parameter sources: The finished sources of the tick.
    /// - Returns: The numbers of volatile and of durable messages.
    mutating func seal(_ sources: [Egress.Source]) -> (volatile: UInt64, durable: UInt64) {
        begin(.none)
        var counts = (volatile: UInt64(0), durable: UInt64(0))
        // Several chunks of the outbox's own buffer keep it alive together, like those of a shared block.
        let isOwnShared = spans.count > 1 && spans.count { $0.source == OutboxSpan.own } > 1
        let ownBlock = isOwnShared ? SharedBlock(own) : nil
        for span in spans {
            let isOwn = span.source == OutboxSpan.own
            let bytes =
                isOwn
                ? (isOwnShared ? own.writtenSlice(span.start..<span.end) : exchange(&own, with: ByteBuffer()))
                : sources[Int(span.source)].buffer.writtenSlice(span.start..<span.end)
            let block = isOwn ? ownBlock : sources[Int(span.source)].block
            let content: Chunk.Content =
                span.droppable == 0
                ? (span.isAnswer ? .answer : .run)
                : .droppable(Chunk.MessageSpan(count: UInt64(span.droppable), first: span.first, last: span.last))
            chunks.append(
                Chunk(content: content, bytes: bytes, charge: block?.byteCount ?? bytes.capacity, block: block))
            unsettled += 1
            counts.volatile += UInt64(span.droppable)
            counts.durable += UInt64(span.durable)
        }
        spans.removeAll(keepingCapacity: spans.count <= 64)
        if own.writerIndex > 0 { own = ByteBuffer() }
        let count = counts.volatile &+ counts.durable
        if count > 0 {
            taken.messageCount &+= count
            taken.copiedRunBytes = 0
        }
        return counts
    }

    /// Takes the next bytes to write. A position where messages were dropped yields a gap frame.
    mutating func next() -> ByteBuffer? {
        guard let chunk = chunks.popFirst() else { return nil }
        if chunks.count < unsettled {
            unsettled = chunks.count
        } else {
            discharge(chunk)
        }
        taken.append(chunk)
        guard case .gap(let dropped) = chunk.content else { return chunk.bytes }
        var frame = ByteBuffer()
        Gap(dropped: dropped.count, range: SequenceRange(first: dropped.first, last: dropped.last)).write(to: &frame)
        return frame
    }

    /// Charges the chunks that the host has not taken. If the outbox uses less than half of the memory that a chunk
    /// keeps alive, the chunk is copied first, to reduce the charge.
    ///
    /// - Parameters:
    ///   - isBlocked: Whether some of the taken bytes wait for the socket. If so, all taken bytes are counted as
    ///     waiting.
    ///   - blocks: The shared blocks of the connection's user.
    mutating func settle(isBlocked: Bool, in blocks: RetainedBlocks) {
        taken.settle(isBlocked: isBlocked, in: blocks)
        runs = 0
        let first = chunks.count - unsettled
        let usedBytes = unsettled > 1 ? chunks.usedBytesOfBlocks(from: first) : [:]
        for index in first..<chunks.count {
            let bytes = chunks[index].bytes.readableBytes
            if let block = chunks[index].block, case let used = usedBytes[ObjectIdentifier(block)] ?? bytes,
                used * 2 >= block.byteCount
            {
                chunks[index].charge = block.byteCount * bytes / max(1, used)
                chunks[index].reference = BlockReference(block, in: blocks)
            } else if bytes * 2 < chunks[index].charge {
                chunks[index].bytes = ByteBuffer(bytes: chunks[index].bytes.readableBytesView)
                chunks[index].charge = chunks[index].bytes.capacity
                chunks[index].block = nil
            }
            charge(chunks[index])
        }
        unsettled = 0
    }

    private mutating func charge(_ chunk: Chunk) {
        switch chunk.content {
        case .droppable: droppableBytes += chunk.charge
        case .answer: answers &+= UInt32(truncatingIfNeeded: chunk.charge)
        case .run: settledRuns &+= UInt32(truncatingIfNeeded: chunk.charge)
        case .gap: break
        }
        if chunk.block == nil { ownWaitingBytes &+= UInt32(truncatingIfNeeded: chunk.charge) }
    }

    private mutating func discharge(_ chunk: Chunk) {
        switch chunk.content {
        case .droppable: droppableBytes -= chunk.charge
        case .answer: answers &-= UInt32(truncatingIfNeeded: chunk.charge)
        case .run: settledRuns &-= UInt32(truncatingIfNeeded: chunk.charge)
        case .gap: break
        }
        if chunk.block == nil { ownWaitingBytes &-= UInt32(truncatingIfNeeded: chunk.charge) }
    }

    // MARK: Overflow, after settling

    /// Drops the oldest droppable messages until the charge for droppable chunks is at most `limit`. Gaps replace the
    /// dropped messages.
    ///
    /// - Returns: The number of dropped messages, and their frames.
    mutating func dropOldest(downTo limit: Int) -> (count: UInt64, frames: [ByteBuffer]) {
        var remaining: Deque<Chunk> = []
        var dropped: (count: UInt64, frames: [ByteBuffer]) = (0, [])
        for chunk in chunks {
            guard droppableBytes > limit, case .droppable(let messages) = chunk.content else {
                remaining.appendMergingGaps(chunk)
                continue
            }
            discharge(chunk)
            let (oldest, frames, rest) = chunk.droppingOldest(of: messages, downTo: limit - droppableBytes)
            if let oldest {
                dropped.count += oldest.count
                dropped.frames.append(frames)
                remaining.appendMergingGaps(.gap(oldest))
            }
            if let rest {
                charge(rest)
                remaining.append(rest)
            }
        }
        chunks = remaining
        return dropped
    }

    /// Drops every droppable message that is followed by a later one with the same name and object. Gaps replace the
    /// dropped messages.
    ///
    /// Chunks that must arrive keep their place. So no message follows the answer that ends its subscription, and
    /// nothing separates the header of a run from its messages.
    ///
    /// - Returns: The number of dropped messages.
    mutating func keepLatest() -> UInt64 {
        for chunk in chunks where chunk.isDroppable { discharge(chunk) }
        let (latest, dropped) = chunks.keepingLatest()
        chunks = latest
        for chunk in chunks where chunk.isDroppable { charge(chunk) }
        return dropped
    }

    /// Drops everything. Called when the connection fails or is closed.
    mutating func removeAll() {
        taken.removeAll()
        self = Outbox(taken: taken, isTouched: isTouched, isQueued: isQueued)
    }

    /// The outbox of a free slot. It allocates nothing: after many connections have been closed, one small object per
    /// slot could keep whole pages of malloc's memory in use.
    static func unused(isTouched: Bool = false) -> Outbox {
        Outbox(taken: TakenChunks.none, isTouched: isTouched)
    }

    init(taken: TakenChunks = TakenChunks(), isTouched: Bool = false, isQueued: Bool = false) {
        self.taken = taken
        self.isTouched = isTouched
        self.isQueued = isQueued
    }
}
