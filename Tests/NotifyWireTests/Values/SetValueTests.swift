import NIOCore
import NotifyWire
import Testing
import WireTestSupport

@Suite struct SetValueTests {
    @Test(arguments: [nil, 0, 7, .max] as [UInt64?])
    func `a value is decoded as encoded`(_ ifSequence: UInt64?) throws {
        let headers = try HeaderList.encode([("k", "v")])
        let bytes = setValueFrame(
            9, "a.b", object: "o", headers: headers, payload: [1, 2], ifSequence: ifSequence, .synced, receipt: false)
        try withFrame(bytes) { frame in
            let value = try SetValue(frame)
            #expect(value.ifSequence == ifSequence)
            #expect(value.post.request == 9 && value.post.durability == .synced && !value.post.wantsReceipt)
            #expect(Array(value.post.parts.name) == Array("a.b".utf8) && Array(value.post.parts.object) == [0x6F])
            #expect(Array(value.post.parts.headers) == headers && Array(value.post.parts.payload) == [1, 2])
            let base = try #require(frame.body.baseAddress)
            #expect(value.post.parts.name.baseAddress == base + SetValue.fixedSize)
        }
    }

    @Test func `a value truncated before its payload is malformed`() throws {
        let body = Array(setValueFrame(1, "a", object: "o", payload: [1, 2])[8...])
        for count in 0..<(body.count - 2) {
            let cut = rawFrame(FrameKind.setValue.rawValue, Array(body[..<count]))
            #expect(throws: WireError.truncated, "cut at \(count)") { try withFrame(cut) { _ = try SetValue($0) } }
        }
    }

    @Test func `the headers of a clear have the reason, and clients can't add it`() throws {
        let headers = ClearedHeader.encoded(.cleared)
        #expect(headers.withUnsafeBytes { ClearedHeader.reason(in: $0) } == "cleared")
        #expect(throws: WireError.self) { try headers.withUnsafeBytes { try HeaderList.validate($0) } }
        #expect([UInt8]().withUnsafeBytes { ClearedHeader.reason(in: $0) } == nil)
    }
}
