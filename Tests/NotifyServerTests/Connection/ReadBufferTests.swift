import NIOCore
import Testing

@testable import NotifyServer

struct ReadBufferTests {
    private func address(of buffer: ByteBuffer) -> UInt {
        buffer.withVeryUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    }

    @Test(arguments: [1, 1024, ReadBuffer.capacity]) func `a buffer has room for the limit of a read`(limit: Int) {
        var shared = ReadBuffer()
        let buffer = shared.take(limit: limit)
        #expect(buffer.readableBytes == 0 && buffer.writableBytes == limit)
    }

    @Test func `a returned buffer is reused`() {
        var shared = ReadBuffer()
        var first: ByteBuffer? = shared.take(limit: 100)
        first?.writeString("abc")
        let address = first.map(address(of:))
        shared.release(first.take() ?? ByteBuffer())
        let second = shared.take(limit: 200)
        #expect(self.address(of: second) == address)
        #expect(second.readableBytes == 0 && second.writableBytes == 200)
    }

    @Test func `bytes still in use are not overwritten`() {
        var shared = ReadBuffer()
        var first = shared.take(limit: 100)
        first.writeString("abc")
        shared.release(first)
        var second = shared.take(limit: 100)
        second.writeString("xyz")
        #expect(String(buffer: first) == "abc")
        #expect(String(buffer: second) == "xyz")
    }

    @Test func `a smaller buffer is not reused`() {
        var shared = ReadBuffer()
        shared.release(ByteBuffer(string: "small"))
        #expect(shared.take(limit: ReadBuffer.capacity).writableBytes == ReadBuffer.capacity)
    }

    @Test func `only the first read of a turn is limited`() throws {
        let harness = DriverHarness()
        var allocator = SharedReadAllocator(driver: NIOLoopBound(harness.driver, eventLoop: harness.loop), uid: 1000)
        func read() -> Int {
            let buffer = allocator.buffer(allocator: ByteBufferAllocator())
            harness.driver.releaseReadBuffer(buffer)
            _ = allocator.record(actualReadBytes: buffer.writableBytes)
            return buffer.writableBytes
        }
        for _ in 0..<2 {
            // The ledger knows no connection of the user, so the first read of a turn has the minimum limit.
            #expect(read() == 1024)
            #expect(read() == ReadBuffer.capacity)
            #expect(read() == ReadBuffer.capacity)
            harness.driver.scheduleTick()
            harness.run()
        }
    }
}
