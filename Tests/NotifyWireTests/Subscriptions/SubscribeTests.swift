import NotifyWire
import Testing
import WireTestSupport

@Suite struct SubscribeTests {
    @Test(arguments: [0, 1, 64, 255])
    func `any number of patterns that fits its field is decoded`(_ count: Int) throws {
        let frame = Subscribe(request: 1, subscription: 2, patterns: (0..<count).map { "p\($0)" })
        #expect(try Subscribe.decode(frame.encoded) == frame)
    }

    @Test func `the largest subscribe fits a frame`() {
        let longest = String(repeating: "x", count: Limits.nameBytes)
        let frame = Subscribe(
            request: 1, subscription: 2,
            patterns: Array(repeating: longest, count: Limits.patternsPerSubscription),
            object: String(repeating: "x", count: Limits.objectBytes),
            durableName: String(repeating: "x", count: Limits.subscriptionNameBytes))
        #expect(frame.encoded.count - FrameHeader.size <= Limits.frameOverheadBytes)
    }

    @Test(arguments: UInt8.min ... .max)
    func `every start is decoded or refused`(_ value: UInt8) throws {
        var bytes = Subscribe(request: 1, subscription: 2, patterns: ["a"]).encoded
        bytes[8 + 20] = value
        switch value {
        case 0: #expect(try Subscribe.decode(bytes).start == .now)
        case 1: #expect(try Subscribe.decode(bytes).start == .oldest)
        default:
            let error = try #require(throws: WireError.self) { try Subscribe.decode(bytes) }
            #expect(error.code == .unsupported)
        }
    }

    /// The arguments are the offsets of the durable name "d", the object "o" and the pattern "abc" in the frame.
    @Test(arguments: [32, 33, 35])
    func `text that is not UTF-8 is malformed`(_ offset: Int) throws {
        var bytes = Subscribe(request: 1, subscription: 2, patterns: ["abc"], object: "o", durableName: "d").encoded
        bytes[offset] = 0xFF
        let error = try #require(throws: WireError.self) { try Subscribe.decode(bytes) }
        #expect(error.code == .malformedFrame)
        #expect(error.message.contains("UTF-8"))
    }
}
