import NIOCore
import Testing

@testable import NotifyWire

@Suite struct PartialFrameTests {
    @Test func `a read without a partial frame is passed through`() {
        var partial = PartialFrame()
        #expect(partial.join(ByteBuffer(bytes: [1, 2])) == ByteBuffer(bytes: [1, 2]))
        partial.keep(ByteBuffer())
        #expect(partial.join(ByteBuffer(bytes: [3])) == ByteBuffer(bytes: [3]))
    }

    @Test func `kept bytes precede only the next read`() {
        var partial = PartialFrame()
        partial.keep(ByteBuffer(bytes: [1, 2]))
        #expect(partial.join(ByteBuffer(bytes: [3])) == ByteBuffer(bytes: [1, 2, 3]))
        #expect(partial.join(ByteBuffer(bytes: [4])) == ByteBuffer(bytes: [4]))
        partial.keep(ByteBuffer(bytes: [1]))
        partial.removeAll()
        #expect(partial.join(ByteBuffer(bytes: [5])) == ByteBuffer(bytes: [5]))
    }

    @Test func `a few kept bytes do not retain a large buffer`() {
        var read = ByteBuffer(repeating: 7, count: 65_536)
        read.moveReaderIndex(forwardBy: 65_530)
        var partial = PartialFrame()
        partial.keep(read)
        let joined = partial.join(ByteBuffer(bytes: [8]))
        #expect(joined == ByteBuffer(bytes: [7, 7, 7, 7, 7, 7, 8]))
        #expect(joined.storageCapacity < 100)
    }

    @Test func `the kept part of a large frame is not copied`() {
        var read = ByteBuffer(repeating: 7, count: 65_536)
        read.moveReaderIndex(forwardBy: 100)
        var partial = PartialFrame()
        partial.keep(read)
        #expect(partial.join(ByteBuffer(bytes: [8])).readerIndex == 100)
    }

    @Test func `a stream split anywhere is joined`() {
        let stream = (0..<500).map { UInt8(truncatingIfNeeded: $0) }
        for size in 1...20 {
            var partial = PartialFrame()
            var seen: [UInt8] = []
            for start in stride(from: 0, to: stream.count, by: size) {
                var read = partial.join(ByteBuffer(bytes: stream[start..<min(start + size, stream.count)]))
                // Frames of 7 bytes.
                while let frame = read.readBytes(length: 7) { seen += frame }
                partial.keep(read)
            }
            #expect(seen == Array(stream.prefix(stream.count / 7 * 7)))
        }
    }
}
