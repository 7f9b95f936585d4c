import NIOCore
import NotifyWire
import Testing
import WireTestSupport

@Suite struct PostTests {
    private func encode(
        request: UInt64 = 1, durability: Durability = .automatic, wantsReceipt: Bool = true, _ parts: MessageParts
    ) -> [UInt8] {
        var buffer = ByteBuffer()
        Post(request: request, durability: durability, wantsReceipt: wantsReceipt, parts: parts).append(to: &buffer)
        return Array(buffer.readableBytesView)
    }

    @Test(arguments: Durability.allCases, [true, false])
    func `a post is decoded as encoded`(_ durability: Durability, wantsReceipt: Bool) throws {
        let headers = try HeaderList.encode([("k", "v")])
        let bytes = withParts(name: "n.m", object: "ob", messageID: "id1", headers: headers, payload: [1, 2, 3, 4]) {
            encode(request: 0x0102_0304_0506_0708, durability: durability, wantsReceipt: wantsReceipt, $0)
        }
        try withFrame(bytes) { frame in
            let post = try Post(frame)
            #expect(post.request == 0x0102_0304_0506_0708)
            #expect(Post.request(of: frame) == post.request)
            #expect(post.durability == durability)
            #expect(post.wantsReceipt == wantsReceipt)
            #expect(Array(post.parts.name) == Array("n.m".utf8))
            #expect(Array(post.parts.object) == Array("ob".utf8))
            #expect(Array(post.parts.messageID) == Array("id1".utf8))
            #expect(Array(post.parts.headers) == headers)
            #expect(Array(post.parts.payload) == [1, 2, 3, 4])
        }
    }

    @Test func `parts point into the frame`() throws {
        let bytes = withParts(name: "n", payload: [42]) { encode($0) }
        try withFrame(bytes) { frame in
            let post = try Post(frame)
            let base = try #require(frame.body.baseAddress)
            #expect(post.parts.name.baseAddress == base + Post.fixedSize)
            #expect(post.parts.payload.baseAddress == base + Post.fixedSize + 1)
        }
    }

    @Test(arguments: [0, 1, 254, 255])
    func `parts up to the maximum length are decoded`(_ count: Int) throws {
        let text = String(repeating: "x", count: count)
        let bytes = withParts(name: text, object: text, messageID: text) { encode($0) }
        try withFrame(bytes) { frame in
            let parts = try Post(frame).parts
            #expect(parts.name.count == count && parts.object.count == count && parts.messageID.count == count)
            #expect(parts.headers.isEmpty && parts.payload.isEmpty)
        }
    }

    /// The payload extends to the end of the body, so a post is malformed only if a part before the payload is
    /// truncated.
    @Test func `a post truncated before its payload is malformed`() throws {
        let headers = try HeaderList.encode([("k", "v")])
        let whole = withParts(name: "n.m", object: "o", messageID: "i", headers: headers, payload: [1, 2]) {
            encode($0)
        }
        let body = Array(whole[8...])
        for count in 0...body.count {
            let cut = rawFrame(FrameKind.post.rawValue, Array(body[..<count]))
            if count < body.count - 2 {
                #expect(throws: WireError.truncated, "cut at \(count)") { try withFrame(cut) { _ = try Post($0) } }
            } else {
                #expect(try withFrame(cut) { try Post($0).parts.payload.count } == count - body.count + 2)
            }
        }
    }

    @Test(arguments: UInt8.min ... .max)
    func `every durability is decoded or refused`(_ value: UInt8) throws {
        var bytes = withParts { encode($0) }
        bytes[8 + 13] = value
        if let durability = Durability(rawValue: value) {
            #expect(try withFrame(bytes) { try Post($0).durability } == durability)
        } else {
            let error = try #require(throws: WireError.self) { try withFrame(bytes) { _ = try Post($0) } }
            #expect(error.code == .invalidArgument)
        }
    }

    @Test(arguments: UInt8.min ... .max)
    func `unknown flags are refused`(_ flags: UInt8) throws {
        var bytes = withParts { encode($0) }
        bytes[5] = flags
        if flags <= 1 {
            #expect(try withFrame(bytes) { try Post($0).wantsReceipt } == (flags == 1))
        } else {
            let error = try #require(throws: WireError.self) { try withFrame(bytes) { _ = try Post($0) } }
            #expect(error.code == .unsupported)
        }
    }

    @Test func `the request number of a malformed post is known`() throws {
        #expect(try withFrame(rawFrame(2, [7, 0, 0, 0, 0, 0, 0, 0])) { Post.request(of: $0) } == 7)
        #expect(try withFrame(rawFrame(2, [7, 0, 0, 0, 0, 0, 0])) { Post.request(of: $0) } == 0)
    }

    @Test(arguments: UInt8.min ... .max)
    func `a receipt with automatic or unknown durability is refused`(_ value: UInt8) throws {
        var bytes = Receipt(request: 1, sequence: 2, subscribers: 3, stored: 4, durability: .stored).encoded
        bytes[8 + 24] = value
        if let durability = Durability(rawValue: value), durability != .automatic {
            #expect(try Receipt.decode(bytes).durability == durability)
        } else {
            let error = try #require(throws: WireError.self) { try Receipt.decode(bytes) }
            #expect(error.code == .invalidArgument)
        }
    }
}
