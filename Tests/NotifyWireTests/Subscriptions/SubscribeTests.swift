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
            durableName: String(repeating: "x", count: Limits.subscriptionNameBytes),
            settings: DurableSettingChanges(
                retryDelays: Array(repeating: 1, count: DurableSettingChanges.maximumRetryDelays)))
        #expect(frame.encoded.count - FrameHeader.size <= Limits.frameOverheadBytes)
    }

    /// The bytes of a subscribe whose start has this kind and value.
    private func bytes(startKind: UInt8, value: UInt64) -> [UInt8] {
        var bytes = Subscribe(request: 1, subscription: 2, patterns: ["a"]).encoded
        bytes[8 + 20] = startKind
        bytes.replaceSubrange(8 + 24..<8 + 32, with: (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) })
        return bytes
    }

    @Test(arguments: UInt8.min ... .max)
    func `every kind of start is decoded or refused`(_ kind: UInt8) throws {
        let starts: [LogPosition] = [.now, .oldest, .sequence(7), .age(microseconds: 7), .time(microseconds: 7)]
        let bytes = bytes(startKind: kind, value: kind < 2 ? 0 : 7)
        if kind < starts.count {
            let start = starts[Int(kind)]
            #expect(try Subscribe.decode(bytes).start == start)
            #expect(Subscribe(request: 1, subscription: 2, patterns: ["a"], start: start).encoded == bytes)
        } else {
            let error = try #require(throws: WireError.self) { try Subscribe.decode(bytes) }
            #expect(error.code == .unsupported)
        }
    }

    @Test(
        arguments: [
            (0, 0, 0), (1, 0, 0), (2, 1, 1 << 53 - 1), (3, 0, 1 << 63 - 1), (4, 0, 1 << 63 - 1),
        ] as [(UInt8, UInt64, UInt64)])
    func `a start's value is accepted within its range only`(kind: UInt8, first: UInt64, last: UInt64) throws {
        for value in [first, last] { _ = try Subscribe.decode(bytes(startKind: kind, value: value)) }
        for value in Set([first &- 1, last + 1, .max]) {
            let error = try #require(throws: WireError.self) {
                try Subscribe.decode(bytes(startKind: kind, value: value))
            }
            #expect(error.code == .invalidArgument)
            #expect(error.message.contains("\(value)"))
        }
    }

    /// The arguments are the offsets of the durable name "d", the object "o" and the pattern "abc" in the frame.
    @Test(arguments: [68, 69, 71])
    func `text that is not UTF-8 is malformed`(_ offset: Int) throws {
        var bytes = Subscribe(request: 1, subscription: 2, patterns: ["abc"], object: "o", durableName: "d").encoded
        bytes[offset] = 0xFF
        let error = try #require(throws: WireError.self) { try Subscribe.decode(bytes) }
        #expect(error.code == .malformedFrame)
        #expect(error.message.contains("UTF-8"))
    }
}
