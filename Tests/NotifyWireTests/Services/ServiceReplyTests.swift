import NIOCore
import NotifyWire
import Testing
import WireTestSupport

@Suite struct ServiceReplyTests {
    private func reply(headers: [UInt8] = [], payload: [UInt8] = []) -> ServiceReply {
        ServiceReply(
            request: 1, uid: 2, gid: 3, pid: .max, headers: ByteBuffer(bytes: headers),
            payload: ByteBuffer(bytes: payload))
    }

    @Test(arguments: [[], [7], Array(repeating: 7, count: 1_000)] as [[UInt8]])
    func `a reply written in place is the same frame`(_ payload: [UInt8]) throws {
        let headers = try HeaderList.encode([("k", "v")])
        var buffer = ByteBuffer()
        headers.withUnsafeBytes { headers in
            payload.withUnsafeBytes { payload in
                ServiceReply.append(request: 1, uid: 2, gid: 3, pid: .max, headers, payload, to: &buffer)
            }
        }
        #expect(Array(buffer.readableBytesView) == reply(headers: headers, payload: payload).encoded)
    }

    /// The payload extends to the end of the body.
    @Test func `a reply truncated before its payload is malformed`() throws {
        let headers = try HeaderList.encode([("k", "v")])
        let body = Array(reply(headers: headers, payload: [1, 2]).encoded[8...])
        for count in 0...body.count {
            let cut = rawFrame(FrameKind.serviceReply.rawValue, Array(body[..<count]))
            if count < body.count - 2 {
                #expect(throws: WireError.truncated, "cut at \(count)") { try ServiceReply.decode(cut) }
            } else {
                #expect(try ServiceReply.decode(cut).payload.readableBytes == count - body.count + 2)
            }
        }
    }

    @Test func `the reserved field is ignored`() throws {
        var bytes = reply(payload: [1]).encoded
        bytes.replaceSubrange(8 + 22...8 + 23, with: [0xFF, 0xFF])
        #expect(try ServiceReply.decode(bytes) == reply(payload: [1]))
    }
}
