import NotifyWire
import Testing
import WireTestSupport

@Suite struct HeaderListTests {
    private func decode(_ bytes: [UInt8]) throws -> [(key: String, value: String)] {
        try bytes.withUnsafeBytes { try HeaderList.decode($0) }
    }

    private func validate(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { try HeaderList.validate($0) }
    }

    /// The error of a list that is refused in posts and in deliveries.
    private func code(of bytes: [UInt8]) -> ErrorCode? {
        let failure = #expect(throws: WireError.self) { try decode(bytes) }
        let same = #expect(throws: WireError.self) { try validate(bytes) }
        #expect(failure?.code == same?.code)
        return failure?.code
    }

    /// Encodes a list without validation.
    private func raw(_ headers: [(String, String)]) -> [UInt8] {
        headers.flatMap { key, value -> [UInt8] in
            let count = value.utf8.count
            return [UInt8(key.utf8.count), UInt8(count & 0xFF), UInt8(count >> 8)] + key.utf8 + value.utf8
        }
    }

    @Test func `headers keep keys, values and order`() throws {
        let headers = [
            ("z", "1"), ("a", ""), ("content-type", "text/plain; ünïcode"), ("Z", String(repeating: "v", count: 300)),
        ]
        let bytes = try HeaderList.encode(headers.map { (key: $0, value: $1) })
        #expect(bytes == raw(headers))
        let decoded = try decode(bytes)
        #expect(decoded.map(\.key) == headers.map(\.0))
        #expect(decoded.map(\.value) == headers.map(\.1))
    }

    @Test func `an empty list is encoded as no bytes`() throws {
        #expect(try HeaderList.encode([]).isEmpty)
        #expect(try decode([]).isEmpty)
    }

    @Test(arguments: [63, 64])
    func `headers up to the maximum count are accepted`(_ count: Int) throws {
        let headers = (0..<count).map { (key: "k\($0)", value: "") }
        #expect(try decode(HeaderList.encode(headers)).count == count)
    }

    @Test func `one header more than the maximum is refused`() throws {
        let headers = (0..<65).map { (key: "k\($0)", value: "") }
        let error = try #require(throws: WireError.self) { try HeaderList.encode(headers) }
        #expect(error.code == .invalidHeaders)
        #expect(throws: error) { try validate(raw(headers.map { ($0.key, $0.value) })) }
    }

    @Test(arguments: [16 * 1024 - 1, 16 * 1024])
    func `headers up to the maximum size are accepted`(_ count: Int) throws {
        let value = String(repeating: "v", count: count - 4)
        #expect(try decode(HeaderList.encode([(key: "k", value: value)])).first?.value == value)
    }

    @Test func `one byte more than the maximum size is refused`() throws {
        let value = String(repeating: "v", count: 16 * 1024 - 3)
        let error = try #require(throws: WireError.self) { try HeaderList.encode([(key: "k", value: value)]) }
        #expect(error.code == .invalidHeaders)
        #expect(throws: error) { try validate(raw([("k", value)])) }
        let far = String(repeating: "v", count: 70_000)
        #expect(throws: WireError.self) { try HeaderList.encode([(key: "k", value: far)]) }
    }

    @Test(arguments: [1, 254, 255])
    func `keys up to the maximum length are accepted`(_ count: Int) throws {
        let key = String(repeating: "k", count: count)
        #expect(try decode(HeaderList.encode([(key: key, value: "v")])).first?.key == key)
    }

    @Test(arguments: ["", String(repeating: "k", count: 256), "a\nb", "\u{0}", "\u{7F}", "\u{85}"])
    func `invalid keys are refused`(_ key: String) throws {
        let error = try #require(throws: WireError.self) { try HeaderList.encode([(key: key, value: "")]) }
        #expect(error.code == .invalidHeaders)
        if key.utf8.count < 256 { #expect(code(of: raw([(key, "")])) == .invalidHeaders) }
    }

    @Test func `duplicate keys are refused`() throws {
        let error = try #require(throws: WireError.self) {
            try HeaderList.encode([(key: "k", value: "1"), (key: "k", value: "2")])
        }
        #expect(error.code == .invalidHeaders)
        #expect(error.message == "duplicate header 'k'")
        #expect(code(of: raw([("k", "1"), ("k", "2")])) == .invalidHeaders)
    }

    /// The two spellings of é are equal strings with different bytes.
    @Test func `keys are compared by their bytes`() throws {
        let headers = [("\u{E9}", "1"), ("e\u{301}", "2")]
        #expect(try decode(HeaderList.encode(headers.map { (key: $0, value: $1) })).count == 2)
        #expect(try decode(raw(headers)).count == 2)
    }

    @Test func `a list truncated within a header is refused`() {
        let bytes = raw([("key", "value"), ("k", "v")])
        // The first header ends at 11, where a list may end.
        for cut in 1..<bytes.count where cut != 11 {
            #expect(code(of: Array(bytes[..<cut])) == .invalidHeaders, "cut at \(cut)")
        }
    }

    // MARK: Reserved headers

    @Test(arguments: ["notifyd-", "notifyd-name", "Notifyd-Name", "NOTIFYD-X"])
    func `reserved keys are refused in posts and decoded in deliveries`(_ key: String) throws {
        let error = try #require(throws: WireError.self) { try HeaderList.encode([(key: key, value: "")]) }
        #expect(error.code == .invalidHeaders && error.message.contains("'\(key)' is reserved"))
        let bytes = raw([("a", "b"), (key, "v")])
        let refusal = #expect(throws: WireError.self) { try bytes.withUnsafeBytes { try HeaderList.validate($0) } }
        #expect(refusal == error)
        #expect(try decode(bytes).map(\.key) == ["a", key])
    }

    @Test(arguments: ["notifyd", "notify-d", "notifydx-a", "x-notifyd-a", "notifyd_a"])
    func `similar keys are not reserved`(_ key: String) throws {
        #expect(try decode(HeaderList.encode([(key: key, value: "v")])).first?.key == key)
    }

    @Test func `reserved headers have limits of their own`() throws {
        let own = (0..<64).map { ("k\($0)", "") }
        let reserved = (0..<16).map { ("notifyd-\($0)", "") }
        #expect(try decode(raw(own + reserved)).count == 80)
        #expect(code(of: raw(own + reserved + [("notifyd-x", "")])) == .invalidHeaders)
        let largest = [("k", String(repeating: "v", count: 16 * 1024 - 4))]
        let value = String(repeating: "v", count: 4096 - 3 - 9)
        #expect(try decode(raw(largest + [("notifyd-x", value)])).count == 2)
        #expect(code(of: raw(largest + [("notifyd-x", value + "v")])) == .invalidHeaders)
    }

    @Test func `reserved headers are appended, found and removed`() throws {
        let own = raw([("a", "1"), ("b", "")])
        let both = own.withUnsafeBytes {
            HeaderList.encodeReserved([("notifyd-a", "2"), ("notifyd-b", "3")], after: $0)
        }
        #expect(both == own + raw([("notifyd-a", "2"), ("notifyd-b", "3")]))
        both.withUnsafeBytes { bytes in
            #expect(HeaderList.withoutReserved(bytes) == own)
            #expect(HeaderList.value(of: "notifyd-b", in: bytes) == "3")
            #expect(HeaderList.value(of: "b", in: bytes)?.isEmpty == true)
            #expect(HeaderList.value(of: "c", in: bytes) == nil)
            // The reserved headers of the list are replaced.
            #expect(HeaderList.encodeReserved([("notifyd-c", "4")], after: bytes) == own + raw([("notifyd-c", "4")]))
        }
        #expect(try decode(both).count == 4)
        for cut in 0..<both.count {
            both[..<cut].withUnsafeBytes { #expect(HeaderList.withoutReserved($0).count <= own.count) }
        }
    }

    @Test func `text that is not UTF-8 is refused`() {
        #expect(code(of: [1, 1, 0, 0xFF, 0x61]) == .invalidHeaders)
        #expect(code(of: [1, 1, 0, 0x61, 0xFF]) == .invalidHeaders)
    }

    @Test func `a trace context is accepted in posts, unlike other reserved headers`() throws {
        let context = [(key: "notifyd-trace-traceparent", value: "00-1-2-01")]
        let bytes = try HeaderList.encode(context)
        try validate(bytes)
        #expect(bytes.withUnsafeBytes { HeaderList.withoutReserved($0) } == bytes)
        for key in ["notifyd-trace", "notifyd-tracer-a", "Notifyd-Trace-a"] {
            #expect(throws: WireError.self) { try validate(raw([(key, "v")])) }
        }
    }
}
