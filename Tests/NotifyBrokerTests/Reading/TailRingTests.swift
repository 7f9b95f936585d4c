import NIOCore
import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

struct TailRingTests {
    @Test("Blocks are found from the first message above a position")
    func positions() {
        var ring = TailRing(capacityBytes: 1 << 20, floor: 0)
        ring.append(block([2, 4, 6]))
        ring.append(block([8, 10]))
        #expect(sequences(ring, after: 0) == [2, 4, 6, 8, 10])
        #expect(sequences(ring, after: 3) == [4, 6, 8, 10])
        #expect(sequences(ring, after: 4) == [6, 8, 10])
        #expect(sequences(ring, after: 6) == [8, 10])
        #expect(sequences(ring, after: 9) == [10])
        #expect(sequences(ring, after: 10) == [])
    }

    @Test("The oldest blocks go when it is full, and the floor rises to what went")
    func bounded() {
        var ring = TailRing(capacityBytes: 4096, floor: 5)
        #expect(ring.floor == 5)
        for sequence in 0..<100 {
            ring.append(block([UInt64(10 + sequence)], bytes: 256))
        }
        let kept = sequences(ring, after: ring.floor)
        #expect(ring.floor > 5)
        #expect(kept.first == ring.floor + 1)
        #expect(kept.last == 109)
        #expect(kept.count < 4096 / 256)
        #expect(sequences(ring, after: 0) == kept)
    }

    @Test("A block larger than the ring leaves nothing behind but the floor")
    func largeBlock() {
        var ring = TailRing(capacityBytes: 1024, floor: 0)
        ring.append(block([1]))
        ring.append(block([2, 3], bytes: 4096))
        #expect(ring.floor == 3)
        #expect(sequences(ring, after: 0) == [])
    }

    @Test("An empty block is not kept")
    func emptyBlock() {
        var ring = TailRing(capacityBytes: 1024, floor: 7)
        ring.append(LogBlock())
        #expect(ring.floor == 7)
        #expect(sequences(ring, after: 0) == [])
    }

    private func block(_ sequences: [UInt64], bytes: Int = 64) -> LogBlock {
        var block = LogBlock()
        for sequence in sequences {
            block.entries.append(
                .init(sequence: sequence, offset: UInt32(block.frames.readableBytes), length: UInt32(bytes)))
            block.frames.writeRepeatingByte(0, count: bytes)
        }
        return block
    }

    private func sequences(_ ring: TailRing, after position: UInt64) -> [UInt64] {
        ring.blocks(after: position).flatMap { block, first in block.entries[first...].map(\.sequence) }
    }
}
