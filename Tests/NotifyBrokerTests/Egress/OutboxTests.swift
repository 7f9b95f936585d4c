import WireTestSupport
import NIOCore
@testable import NotifyBroker
import NotifyLog
import NotifyWire
import Testing

struct OutboxTests {
    /// A source with frames of volatile messages, as written in one tick.
    private struct Source {
        var buffer = ByteBuffer()

        mutating func append(_ sequence: UInt64, name: String = "a", size: Int = 0) -> (start: Int, end: Int) {
            var frame = deliverFrame(sequence, name: name, size: size)
            let start = buffer.writerIndex
            buffer.writeBuffer(&frame)
            return (start, buffer.writerIndex)
        }
    }

    private static func read(_ outbox: inout Outbox) -> [Received] {
        var reader = OutputReader()
        var received: [Received] = []
        while let bytes = outbox.next() { received += reader.read(bytes) }
        return received
    }

    private static func sequences(_ received: [Received]) -> [UInt64] {
        received.compactMap { if case .message(let message) = $0 { message.sequence } else { nil } }
    }

    /// Returns a run of adjacent messages in a source, for subscription 9.
    private static func run(_ places: [(start: Int, end: Int)], in source: UInt32, isRedelivery: Bool) -> OpenRun {
        let destination = OpenRun.Destination(
            connection: ConnectionSlot(0), subscription: 9, isRedelivery: isRedelivery)
        let entries = places.map {
            LogBlock.Entry(sequence: 0, offset: UInt32($0.start), length: UInt32($0.end - $0.start))
        }
        var run = OpenRun(OpenRun.Frames(entries[0]), in: source, to: destination)
        for entry in entries.dropFirst() {
            let isExtended = run.extend(with: OpenRun.Frames(entry), in: source, to: destination)
            #expect(isExtended)
        }
        return run
    }

    private static func pong(_ request: UInt64, to outbox: inout Outbox) {
        outbox.appendOwn { Pong(request: request).write(to: &$0) }
    }

    /// Writes one volatile message for each sequence, in one tick.
    private static func tick(_ outbox: inout Outbox, _ sequences: [UInt64], name: String = "a", size: Int = 0) {
        var source = Source()
        for sequence in sequences {
            let place = source.append(sequence, name: name, size: size)
            outbox.appendVolatile(source: 0, start: place.start, end: place.end, sequence: sequence)
        }
        _ = outbox.seal([Egress.Source(source.buffer)])
    }

    // MARK: A tick

    @Test func `the stride of an outbox is a power of two`() {
        #expect(MemoryLayout<Outbox>.stride == 128)
    }

    @Test func `adjacent spans are joined in order`() {
        var outbox = Outbox()
        var source = Source()
        Self.pong(1, to: &outbox)
        Self.pong(2, to: &outbox)
        for sequence in [5, 6, 7] as [UInt64] {
            let place = source.append(sequence)
            outbox.appendVolatile(source: 0, start: place.start, end: place.end, sequence: sequence)
        }
        Self.pong(3, to: &outbox)
        let counts = outbox.seal([Egress.Source(source.buffer)])
        #expect(counts.volatile == 3)
        #expect(outbox.chunks.count == 3, "two pongs, three messages, one pong")
        let received = Self.read(&outbox)
        #expect(received.first == .pong(Pong(request: 1)))
        #expect(received.last == .pong(Pong(request: 3)))
        #expect(Self.sequences(received) == [5, 6, 7])
        #expect(outbox.isEmpty)
    }

    @Test func `spans that are apart or of different sources are not joined`() {
        var outbox = Outbox()
        var (first, second) = (Source(), Source())
        let one = first.append(1)
        _ = first.append(2)
        let three = first.append(3)
        let four = second.append(4)
        for (source, place, sequence) in [(UInt32(0), one, UInt64(1)), (0, three, 3), (1, four, 4)] {
            outbox.appendVolatile(source: source, start: place.start, end: place.end, sequence: sequence)
        }
        _ = outbox.seal([Egress.Source(first.buffer), Egress.Source(second.buffer)])
        #expect(outbox.chunks.count == 3)
        #expect(Self.sequences(Self.read(&outbox)) == [1, 3, 4])
    }

    @Test func `a run header directly precedes its messages`() {
        var outbox = Outbox()
        var (source, page) = (Source(), Source())
        let one = source.append(1)
        let (two, three) = (page.append(2), page.append(3))
        outbox.appendVolatile(source: 0, start: one.start, end: one.end, sequence: 1)
        let sources = [Egress.Source(source.buffer), Egress.Source(page.buffer)]
        outbox.append(Self.run([two, three], in: 1, isRedelivery: true), of: sources[1])
        Self.pong(1, to: &outbox)
        let counts = outbox.seal(sources)
        #expect(counts.volatile == 1 && counts.durable == 2)
        let messages = Self.read(&outbox).compactMap { if case .message(let message) = $0 { message } else { nil } }
        #expect(messages.map(\.subscription) == [0, 9, 9])
        #expect(messages.map(\.isRedelivery) == [false, true, true])
    }

    @Test(arguments: [(1023, 1), (1024, 1), (1025, 2)])
    func `the messages of a small run are copied behind its header`(_ bytes: Int, _ chunks: Int) {
        var outbox = Outbox()
        var page = Source()
        _ = page.append(1)
        let place = page.append(2, size: bytes - deliverFrame(2).readableBytes)
        let source = Egress.Source(page.buffer)
        outbox.append(Self.run([place], in: 0, isRedelivery: false), of: source)
        #expect(outbox.unreadAnswerBytes == Run.frameSize, "messages are no answers")
        let counts = outbox.seal([source])
        #expect(counts.volatile == 0 && counts.durable == 1)
        Self.pong(1, to: &outbox)
        #expect(outbox.unreadAnswerBytes == FrameHeader.size + 8)
        _ = outbox.seal([])
        #expect(outbox.chunks.count == chunks + 1)
        outbox.settle(isBlocked: false, in: RetainedBlocks())
        #expect(outbox.reliableBytes >= Run.frameSize + bytes)
        #expect(Self.sequences(Self.read(&outbox)) == [2])
    }

    // MARK: Charges

    @Test func `only unsent bytes are charged`() {
        var outbox = Outbox()
        Self.tick(&outbox, [1, 2], size: 100)
        Self.pong(1, to: &outbox)
        _ = outbox.seal([])
        #expect(outbox.waitingBytes == 0, "nothing is charged before it is settled")
        _ = outbox.next()
        outbox.settle(isBlocked: false, in: RetainedBlocks())
        #expect(outbox.droppableBytes == 0)
        #expect(outbox.reliableBytes == FrameHeader.size + 8)
        outbox.settle(isBlocked: false, in: RetainedBlocks())
        #expect(outbox.waitingBytes == FrameHeader.size + 8, "settling twice charges once")
        _ = outbox.next()
        #expect(outbox.waitingBytes == 0)
        #expect(outbox.next() == nil)
    }

    @Test(arguments: [4095, 4096, 4097])
    func `messages that use less than half of a block are copied`(_ used: Int) {
        var outbox = Outbox()
        var block = ByteBuffer()
        var frame = deliverFrame(1, size: used - deliverFrame(1).readableBytes)
        block.writeBuffer(&frame)
        block.writeRepeatingByte(0, count: 8192 - used)
        outbox.appendVolatile(source: 0, start: 0, end: used, sequence: 1)
        _ = outbox.seal([Egress.Source(block)])
        outbox.settle(isBlocked: false, in: RetainedBlocks())
        #expect(outbox.droppableBytes == (used < 4096 ? 4096 : 8192))
        #expect(outbox.ownBytes == (used < 4096 ? 4096 : 0))
        #expect(Self.sequences(Self.read(&outbox)) == [1])
        #expect(outbox.droppableBytes == 0)
    }

    @Test(arguments: [1, 100])
    func `an answer and small runs are charged for the buffer that they share`(_ runs: Int) {
        var outbox = Outbox()
        var page = Source()
        let place = page.append(1, size: 900)
        let source = Egress.Source(page.buffer)
        Self.pong(1, to: &outbox)
        for _ in 0..<runs { outbox.append(Self.run([place], in: 0, isRedelivery: false), of: source) }
        let memory = outbox.own.storageCapacity
        _ = outbox.seal([source])
        #expect(outbox.chunks.count == 2)
        outbox.settle(isBlocked: false, in: RetainedBlocks())
        let isShared = outbox.chunks.first?.bytes.storageCapacity == memory
        #expect(isShared == (runs == 100), "few bytes of a small buffer are copied")
        let kept = isShared ? memory - 2 : outbox.chunks.reduce(0) { $0 + $1.bytes.storageCapacity }
        #expect(outbox.waitingBytes >= kept)
        while outbox.next() != nil {}
        #expect(outbox.waitingBytes == 0)
    }

    @Test func `a block is charged once for a user until the user's last connection releases it`() {
        let blocks = RetainedBlocks()
        var source = Source()
        let place = source.append(1, size: 10_000)
        let origin = Egress.Source(source.buffer)
        var outboxes = [Outbox(), Outbox()]
        for index in outboxes.indices {
            outboxes[index].appendVolatile(source: 0, start: place.start, end: place.end, sequence: 1)
            _ = outboxes[index].seal([origin])
            outboxes[index].settle(isBlocked: false, in: blocks)
        }
        #expect(blocks.byteCount == source.buffer.storageCapacity)
        // The host takes the bytes, but the socket does not accept them.
        _ = outboxes[0].next()
        outboxes[0].settle(isBlocked: true, in: blocks)
        #expect(outboxes[0].droppableBytes == 0)
        outboxes[1].removeAll()
        #expect(blocks.byteCount == source.buffer.storageCapacity)
        outboxes[0].settle(isBlocked: false, in: blocks)
        #expect(blocks.byteCount == 0)
    }

    @Test(arguments: [(5, true), (2, false)])
    func `alternating messages of two blocks are copied unless the outbox uses half of each block`(
        _ count: Int, _ isShared: Bool
    ) {
        let blocks = RetainedBlocks()
        var sources = [Source(), Source()]
        var outbox = Outbox()
        for sequence in 1...6 as ClosedRange<UInt64> {
            for index in sources.indices {
                let place = sources[index].append(sequence, size: 2_000)
                guard sequence <= count else { continue }
                outbox.appendVolatile(
                    source: UInt32(index), start: place.start, end: place.end,
                    sequence: sequence * 2 + UInt64(index))
            }
        }
        let origins = sources.map { Egress.Source($0.buffer) }
        _ = outbox.seal(origins)
        outbox.settle(isBlocked: false, in: blocks)
        #expect(outbox.chunks.count == 2 * count)
        #expect(outbox.chunks.allSatisfy { ($0.block != nil) == isShared })
        let blockBytes = origins.reduce(0) { $0 + $1.block.byteCount }
        if isShared {
            #expect((blockBytes - 8...blockBytes).contains(outbox.waitingBytes), "each block is charged once")
        } else {
            #expect(outbox.waitingBytes < blockBytes)
        }
        let charged = outbox.chunks.reduce(0) { $0 + $1.charge }
        #expect(outbox.waitingBytes == charged)
        while outbox.next() != nil {}
        #expect(outbox.waitingBytes == 0)
    }

    @Test func `charges end as chunks are sent`() {
        var outbox = Outbox()
        for round in 0..<5 as Range<UInt64> {
            Self.tick(&outbox, [round * 2 + 1, round * 2 + 2], size: 50)
            Self.pong(round, to: &outbox)
            _ = outbox.seal([])
            if round == 3 { _ = outbox.next() }
            outbox.settle(isBlocked: false, in: RetainedBlocks())
        }
        while outbox.next() != nil {
            let charged = outbox.chunks.reduce(0) { $0 + $1.charge }
            #expect(outbox.waitingBytes == charged)
        }
        #expect(outbox.waitingBytes == 0)
    }

    // MARK: Overflow

    @Test func `the oldest messages are dropped and replaced by a gap`() {
        var outbox = Outbox()
        Self.pong(1, to: &outbox)
        Self.tick(&outbox, [1, 2], size: 200)
        Self.pong(2, to: &outbox)
        Self.tick(&outbox, [3, 4], size: 200)
        Self.tick(&outbox, [5, 6], size: 200)
        outbox.settle(isBlocked: false, in: RetainedBlocks())
        let one = outbox.droppableBytes / 3
        #expect(outbox.dropOldest(downTo: one).count == 4)
        #expect(outbox.droppableBytes <= one)
        let received = Self.read(&outbox)
        #expect(received[0] == .pong(Pong(request: 1)))
        #expect(received[1] == .gap(Gap(dropped: 2, range: SequenceRange(first: 1, last: 2))))
        #expect(received[2] == .pong(Pong(request: 2)))
        #expect(received[3] == .gap(Gap(dropped: 2, range: SequenceRange(first: 3, last: 4))))
        #expect(Self.sequences(received) == [5, 6])
        #expect(outbox.waitingBytes == 0)
    }

    @Test func `adjacent gaps are joined`() {
        var outbox = Outbox()
        for sequence in 1...6 as ClosedRange<UInt64> { Self.tick(&outbox, [sequence * 10], size: 200) }
        outbox.settle(isBlocked: false, in: RetainedBlocks())
        let one = outbox.droppableBytes / 6
        #expect(outbox.dropOldest(downTo: one * 4).count == 2)
        #expect(outbox.dropOldest(downTo: one).count == 3)
        #expect(outbox.dropOldest(downTo: one).count == 0)
        let received = Self.read(&outbox)
        #expect(received.first == .gap(Gap(dropped: 5, range: SequenceRange(first: 10, last: 50))))
        #expect(Self.sequences(received) == [60])
    }

    @Test func `only the oldest messages of a large block are dropped`() {
        var outbox = Outbox()
        Self.tick(&outbox, Array(1...100), size: 100)
        outbox.settle(isBlocked: false, in: RetainedBlocks())
        let (dropped, frames) = outbox.dropOldest(downTo: 5000)
        #expect(outbox.droppableBytes <= 5000)
        let received = Self.read(&outbox)
        #expect(received.first == .gap(Gap(dropped: dropped, range: SequenceRange(first: 1, last: dropped))))
        #expect(Self.sequences(received) == Array((dropped + 1)...100))
        #expect(dropped < 80, "the newest messages that fit are kept")
        #expect(frames.map(\.deliveredSequences) == [Array(1...dropped)])
    }

    @Test func `without any room, all messages are dropped`() {
        var outbox = Outbox()
        Self.tick(&outbox, [1, 2, 3])
        outbox.settle(isBlocked: false, in: RetainedBlocks())
        #expect(outbox.dropOldest(downTo: 0).count == 3)
        #expect(outbox.droppableBytes == 0)
        #expect(Self.read(&outbox) == [.gap(Gap(dropped: 3, range: SequenceRange(first: 1, last: 3)))])
    }

    @Test func `only the latest message of each name is kept`() {
        var outbox = Outbox()
        Self.tick(&outbox, [1, 2], name: "a", size: 10)
        Self.tick(&outbox, [3], name: "b", size: 10)
        Self.tick(&outbox, [4], name: "a", size: 10)
        outbox.settle(isBlocked: false, in: RetainedBlocks())
        #expect(outbox.keepLatest() == 2)
        #expect(outbox.droppableBytes == outbox.chunks.reduce(0) { $0 + $1.charge })
        let received = Self.read(&outbox)
        #expect(received.first == .gap(Gap(dropped: 2, range: SequenceRange(first: 1, last: 2))))
        #expect(Self.sequences(received) == [3, 4])
        #expect(outbox.waitingBytes == 0)
    }

    /// A message must not follow the answer that confirms the end of its subscription.
    @Test func `keeping the latest moves no message past an answer`() {
        var outbox = Outbox()
        Self.tick(&outbox, [1, 2], name: "a")
        Self.pong(1, to: &outbox)
        Self.tick(&outbox, [3], name: "b")
        outbox.settle(isBlocked: false, in: RetainedBlocks())
        #expect(outbox.keepLatest() == 1)
        #expect(outbox.keepLatest() == 0, "again, nothing is outdated and the gap stays")
        let received = Self.read(&outbox)
        #expect(received.map(\.isPong) == [false, false, true, false])
        #expect(received.first == .gap(Gap(dropped: 1, range: SequenceRange(first: 1, last: 1))))
        #expect(Self.sequences(received) == [2, 3])
    }

    @Test func `a run that has begun is not split`() {
        var outbox = Outbox()
        var page = Source()
        let place = page.append(50, size: 2000)
        let source = Egress.Source(page.buffer)
        outbox.append(Self.run([place], in: 0, isRedelivery: false), of: source)
        _ = outbox.seal([source])
        Self.tick(&outbox, [51, 52])
        var reader = OutputReader()
        if let header = outbox.next() { _ = reader.read(header) }
        outbox.settle(isBlocked: false, in: RetainedBlocks())
        #expect(outbox.keepLatest() == 1)
        let rest = outbox.next().map { reader.read($0) } ?? []
        guard case .message(let message)? = rest.first else {
            Issue.record("a frame between a run and its message: \(rest)")
            return
        }
        #expect(message.sequence == 50 && message.subscription == 9)
    }

    @Test func `removing all messages removes their charges`() {
        var outbox = Outbox()
        outbox.isTouched = true
        Self.tick(&outbox, [1, 2])
        outbox.settle(isBlocked: false, in: RetainedBlocks())
        Self.pong(1, to: &outbox)
        outbox.removeAll()
        #expect(outbox.isEmpty)
        #expect(outbox.waitingBytes == 0)
        #expect(outbox.isTouched, "the outbox is still on the list of outboxes to flush")
        #expect(outbox.next() == nil)
    }
}

extension Received {
    fileprivate var isPong: Bool { if case .pong = self { true } else { false } }
}

extension Outbox {
    /// The charged bytes of all messages and answers that the host has not taken.
    fileprivate var waitingBytes: Int { droppableBytes + reliableBytes }
}

extension ByteBuffer {
    /// The sequences of the deliver frames in the buffer.
    fileprivate var deliveredSequences: [UInt64] {
        var frames = self
        var sequences: [UInt64] = []
        while let frame = frames.readFrame() {
            sequences.append(frame.getInteger(at: frame.readerIndex + FrameHeader.size, endianness: .little) ?? 0)
        }
        return sequences
    }
}
