import NIOCore
@testable import NotifyBroker
import NotifyWire
import Testing
import WireTestSupport

struct BlockWriterTests {
    private func append(_ sequence: UInt64, to writer: inout BlockWriter, size: Int) {
        withParts(name: Array("a".utf8), payload: Array(repeating: UInt8(truncatingIfNeeded: sequence), count: size)) {
            _ = writer.append(stamp(sequence), $0)
        }
    }

    /// The writer reuses its buffers in turn. A buffer that is still referenced must not change.
    @Test func `a sealed buffer does not change`() {
        var writer = BlockWriter()
        var held: [(sequence: UInt64, bytes: ByteBuffer)] = []
        for sequence in 1...60 as ClosedRange<UInt64> {
            append(sequence, to: &writer, size: 100)
            let bytes = writer.seal()
            #expect(writer.buffer.readableBytes == 0)
            // Some buffers are released immediately, and some are kept.
            if sequence % 3 != 0 { held.append((sequence, bytes)) }
        }
        for (sequence, bytes) in held {
            #expect(bytes == deliverFrameBytes(sequence, size: 100), "\(sequence)")
        }
    }

    private func deliverFrameBytes(_ sequence: UInt64, size: Int) -> ByteBuffer {
        var writer = BlockWriter()
        append(sequence, to: &writer, size: size)
        return writer.seal()
    }

    @Test func `appending a message returns the range of its frame`() {
        var writer = BlockWriter()
        let places = withParts(name: Array("a".utf8)) { parts in
            [writer.append(stamp(1), parts), writer.append(stamp(2), parts)]
        }
        #expect(places[0].start == 0)
        #expect(places[0].end == places[1].start)
        #expect(writer.seal().readableBytes == places[1].end)
    }

    @Test func `after a large buffer, later ones shrink to at most twice the size of their bytes`() {
        var writer = BlockWriter()
        append(1, to: &writer, size: 250_000)
        var held = [writer.seal()]
        for sequence in 2...60 as ClosedRange<UInt64> {
            append(sequence, to: &writer, size: 10_000)
            held.append(writer.seal())
        }
        #expect(held.dropFirst(20).allSatisfy { $0.storageCapacity <= 2 * $0.readableBytes })
    }

    @Test func `an oversized buffer is not reused`() {
        var writer = BlockWriter()
        for sequence in 1...20 as ClosedRange<UInt64> {
            append(sequence, to: &writer, size: 600 << 10)
            _ = writer.seal()
        }
        #expect(writer.buffer.capacity <= 512 << 10)
    }
}
