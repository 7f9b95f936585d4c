import NotifyWire
import Testing
import WireTestSupport

@Suite struct AcknowledgeTests {
    private func ranges(_ count: Int) -> [SequenceRange] {
        (0..<UInt64(count)).map { SequenceRange(first: 2 * $0, last: 2 * $0) }
    }

    @Test(arguments: [0, 1, 1023, 1024])
    func `ranges up to the limit are accepted`(_ count: Int) throws {
        let frame = Acknowledge(subscription: 1, ranges: ranges(count))
        #expect(try Acknowledge.decode(frame.encoded) == frame)
        #expect(frame.encoded.count - FrameHeader.size <= Limits.frameOverheadBytes)
    }

    @Test func `one range more than the limit is refused`() throws {
        let frame = Acknowledge(subscription: 1, ranges: ranges(1025))
        let error = try #require(throws: WireError.self) { try Acknowledge.decode(frame.encoded) }
        #expect(error.code == .limitReached)
    }

    @Test func `a count without ranges is refused before allocating`() throws {
        #expect(throws: WireError.truncated) {
            try Acknowledge.decode(rawFrame(FrameKind.acknowledge.rawValue, [1, 0, 0, 0, 0, 4, 0, 0]))
        }
        let error = try #require(throws: WireError.self) {
            try Acknowledge.decode(rawFrame(FrameKind.acknowledge.rawValue, [1, 0, 0, 0, 255, 255, 255, 255]))
        }
        #expect(error.code == .limitReached)
    }

    @Test func `a range that ends before it begins is refused`() throws {
        let frame = Acknowledge(subscription: 1, ranges: [.init(first: 3, last: 3), .init(first: 5, last: 4)])
        let error = try #require(throws: WireError.self) { try Acknowledge.decode(frame.encoded) }
        #expect(error.code == .invalidArgument)
    }
}
