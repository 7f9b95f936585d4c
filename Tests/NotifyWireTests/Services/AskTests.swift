import NIOCore
import NotifyWire
import Testing
import WireTestSupport

@Suite struct AskTests {
    private func encode(request: UInt64 = 1, milliseconds: UInt32 = 5_000, _ parts: MessageParts) -> [UInt8] {
        var buffer = ByteBuffer()
        Ask(request: request, timeoutMilliseconds: milliseconds, parts: parts).append(to: &buffer)
        return Array(buffer.readableBytesView)
    }

    @Test(arguments: [0, 1, 3_600_000, .max] as [UInt32])
    func `an ask is decoded as encoded`(_ milliseconds: UInt32) throws {
        let headers = try HeaderList.encode([("k", "v")])
        let bytes = withParts(name: "n.m", headers: headers, payload: [1, 2, 3, 4]) {
            encode(request: 0x0102_0304_0506_0708, milliseconds: milliseconds, $0)
        }
        try withFrame(bytes) { frame in
            #expect(frame.kind == FrameKind.ask.rawValue)
            let ask = try Ask(frame)
            #expect(ask.request == 0x0102_0304_0506_0708)
            #expect(Post.request(of: frame) == ask.request)
            #expect(ask.timeoutMilliseconds == milliseconds)
            #expect(Array(ask.parts.name) == Array("n.m".utf8))
            #expect(ask.parts.object.isEmpty && ask.parts.messageID.isEmpty)
            #expect(Array(ask.parts.headers) == headers)
            #expect(Array(ask.parts.payload) == [1, 2, 3, 4])
            let base = try #require(frame.body.baseAddress)
            #expect(ask.parts.name.baseAddress == base + Ask.fixedSize)
        }
    }

    @Test(arguments: [0, 1, 254, 255])
    func `a name up to the maximum length is decoded`(_ count: Int) throws {
        let bytes = withParts(name: String(repeating: "x", count: count)) { encode($0) }
        try withFrame(bytes) { frame in
            let parts = try Ask(frame).parts
            #expect(parts.name.count == count && parts.headers.isEmpty && parts.payload.isEmpty)
        }
    }

    @Test func `an ask truncated before its payload is malformed`() throws {
        let headers = try HeaderList.encode([("k", "v")])
        let body = Array(withParts(name: "n.m", headers: headers, payload: [1, 2]) { encode($0) }[8...])
        for count in 0...body.count {
            let cut = rawFrame(FrameKind.ask.rawValue, Array(body[..<count]))
            if count < body.count - 2 {
                #expect(throws: WireError.truncated, "cut at \(count)") { try withFrame(cut) { _ = try Ask($0) } }
            } else {
                #expect(try withFrame(cut) { try Ask($0).parts.payload.count } == count - body.count + 2)
            }
        }
    }

    @Test(arguments: UInt8.min ... .max)
    func `unknown flags are refused`(_ flags: UInt8) throws {
        var bytes = withParts { encode($0) }
        bytes[5] = flags
        if flags == 0 {
            #expect(try withFrame(bytes) { try Ask($0).request } == 1)
        } else {
            let error = try #require(throws: WireError.self) { try withFrame(bytes) { _ = try Ask($0) } }
            #expect(error.code == .unsupported)
        }
    }

    @Test func `the reserved byte is ignored`() throws {
        var bytes = withParts(name: "n.m") { encode($0) }
        bytes[8 + 15] = 0xFF
        #expect(try withFrame(bytes) { try Ask($0).parts.name.count } == 3)
    }
}
