import NIOCore
import NotifyWire
import Testing
import WireTestSupport

@Suite struct RunTests {
    @Test(arguments: [true, false])
    func `a run is decoded as encoded`(_ isRedelivery: Bool) throws {
        let run = Run(subscription: 0x0102_0304, count: .max, isRedelivery: isRedelivery, delivery: 0x0506_0708)
        var buffer = ByteBuffer()
        run.write(to: &buffer)
        let bytes = Array(buffer.readableBytesView)
        #expect(bytes.count == Run.frameSize)
        #expect(bytes[4] == (isRedelivery ? 0x52 : 0x51))
        #expect(Array(bytes[16...]) == [8, 7, 6, 5])
        #expect(try withFrame(bytes) { try Run($0) } == run)
    }

    @Test func `a run of another size is malformed`() throws {
        for count in [0, 8, 11, 13] {
            let bytes = rawFrame(FrameKind.run.rawValue, Array(repeating: 0, count: count))
            let error = try #require(throws: WireError.self) { try withFrame(bytes) { try Run($0) } }
            #expect(error.code == .malformedFrame)
        }
    }
}
