import NIOCore
import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

struct TailRingTests {
    @Test
    func `blocks are found by the first message after a position`() {
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

    @Test
    func `a full ring drops its oldest blocks and raises the floor`() {
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

    @Test
    func `a block larger than the ring is not kept, and evicts all others`() {
        var ring = TailRing(capacityBytes: 1024, floor: 0)
        ring.append(block([1]))
        ring.append(block([2, 3], bytes: 4096))
        #expect(ring.floor == 3)
        #expect(sequences(ring, after: 0) == [])
    }

    @Test
    func `an empty block is not stored`() {
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
