import NotifyWire
import Testing

@Suite struct LimitsTests {
    @Test(arguments: [
        "a", "Z", "0", ".", "_", "-", "mail.in_box-2", String(repeating: "n", count: 63),
        String(repeating: "n", count: 64),
    ])
    func `valid subscription names are accepted`(_ name: String) throws {
        try Limits.validateSubscriptionName(name)
    }

    @Test(arguments: [
        "", String(repeating: "n", count: 65), "a b", "a/b", "é", "a\u{0}", "a\n", ":", "@", "[", "`", "{",
        "/", "\u{FF21}",
    ])
    func `invalid subscription names are refused`(_ name: String) throws {
        let error = try #require(throws: WireError.self) { try Limits.validateSubscriptionName(name) }
        #expect(error.code == .invalidSubscriptionName)
        #expect(error.message.contains("64"))
    }

    /// The overhead of a frame allows for all parts of a post other than its payload.
    @Test func `the largest post fits a frame`() {
        let parts = Limits.nameBytes + Limits.objectBytes + Limits.messageIDBytes + Limits.headerBytes
        #expect(Post.fixedSize + parts <= Limits.frameOverheadBytes)
        #expect(Delivery.fixedSize + parts + Limits.reservedHeaderBytes <= Limits.frameOverheadBytes)
        #expect(ServiceCall.fixedSize + parts <= Limits.frameOverheadBytes)
        #expect(Limits.headerBytes + Limits.reservedHeaderBytes <= Int(UInt16.max))
        #expect(Limits.maximumPayloadBytes + Limits.frameOverheadBytes <= Int(UInt32.max))
    }
}
