import NIOCore
import NotifyWire
import Testing
import WireTestSupport

@Suite struct ServiceCallTests {
    private static let stamp = Stamp(sequence: 0, timeMicroseconds: 1_700_000_000_000_001, uid: 1000, gid: 0, pid: .max)

    private func buffer(call: UInt64, server: UInt32, milliseconds: UInt32, _ parts: MessageParts) -> ByteBuffer {
        var buffer = ByteBuffer()
        ServiceCall(call: call, server: server, timeoutMilliseconds: milliseconds, stamp: Self.stamp, parts: parts)
            .append(to: &buffer)
        return buffer
    }

    private func encode(_ parts: MessageParts) -> [UInt8] {
        Array(buffer(call: 0x0102_0304_0506_0708, server: 9, milliseconds: 5_000, parts).readableBytesView)
    }

    @Test func `a call is decoded as encoded`() throws {
        let headers = try HeaderList.encode([("k", "v")])
        let bytes = withParts(name: "n.m", headers: headers, payload: [1, 2, 3, 4]) { encode($0) }
        try withFrame(bytes) { frame in
            #expect(frame.kind == FrameKind.serviceCall.rawValue)
            #expect(frame.flags == 0)
            let call = try ServiceCall(frame)
            #expect(call.call == 0x0102_0304_0506_0708)
            #expect(call.server == 9)
            #expect(call.timeoutMilliseconds == 5_000)
            #expect(call.stamp == Self.stamp)
            #expect(Array(call.parts.name) == Array("n.m".utf8))
            #expect(call.parts.object.isEmpty && call.parts.messageID.isEmpty)
            #expect(Array(call.parts.headers) == headers)
            #expect(Array(call.parts.payload) == [1, 2, 3, 4])
            let base = try #require(frame.body.baseAddress)
            #expect(call.parts.name.baseAddress == base + ServiceCall.fixedSize)
        }
    }

    @Test func `a call truncated before its payload is malformed`() throws {
        let headers = try HeaderList.encode([("k", "v")])
        let body = Array(withParts(name: "n.m", headers: headers, payload: [1, 2]) { encode($0) }[8...])
        for count in 0...body.count {
            let cut = rawFrame(FrameKind.serviceCall.rawValue, Array(body[..<count]))
            if count < body.count - 2 {
                #expect(throws: WireError.truncated, "cut at \(count)") {
                    try withFrame(cut) { _ = try ServiceCall($0) }
                }
            } else {
                #expect(try withFrame(cut) { try ServiceCall($0).parts.payload.count } == count - body.count + 2)
            }
        }
    }

    @Test func `flags of later versions and the reserved byte are ignored`() throws {
        var bytes = withParts(name: "n.m") { encode($0) }
        (bytes[5], bytes[8 + 39]) = (0xFF, 0xFF)
        #expect(try withFrame(bytes) { try ServiceCall($0).parts.name.count } == 3)
    }

    @Test(arguments: [0, 1, 255])
    func `the name is found in an encoded frame`(_ count: Int) {
        let name = String(repeating: "x", count: count)
        let bytes = withParts(name: name, headers: [1, 2, 3], payload: [4]) { encode($0) }
        bytes.withUnsafeBytes { #expect(Array(ServiceCall.name(inFrame: $0)) == Array(name.utf8)) }
    }

    @Test func `a call is addressed to a server after it was encoded`() throws {
        let headers = try HeaderList.encode([("k", "v")])
        withParts(name: "n.m", headers: headers, payload: [1, 2]) { parts in
            var frame = buffer(call: 0, server: 0, milliseconds: 0, parts)
            ServiceCall.address(&frame, call: .max, server: 9, timeoutMilliseconds: 7)
            #expect(frame == buffer(call: .max, server: 9, milliseconds: 7, parts))
        }
    }

    @Test func `a call is addressed behind bytes that were read`() {
        withParts(name: "n.m", payload: [1, 2]) { parts in
            var frame = ByteBuffer(bytes: [1, 2, 3])
            frame.writeImmutableBuffer(buffer(call: 0, server: 0, milliseconds: 0, parts))
            frame.moveReaderIndex(forwardBy: 3)
            ServiceCall.address(&frame, call: 8, server: 9, timeoutMilliseconds: 7)
            #expect(frame == buffer(call: 8, server: 9, milliseconds: 7, parts))
        }
    }
}
