import NIOCore
import NotifyWire
import Testing
import WireTestSupport

@Suite struct DeadLetterHeadersTests {
    private let stamp = Stamp(sequence: 1 << 53 - 1, timeMicroseconds: .max, uid: .max, gid: 0, pid: 4242)

    /// Makes the dead letter of a message, and calls `body` with it.
    private func withDeadLetter<Result>(
        name: String, object: String = "", messageID: String = "", headers: [UInt8] = [], reason: String = "exit 1",
        _ body: (Delivery) throws -> Result
    ) throws -> Result {
        let encoded = withParts(name: name, object: object, messageID: messageID, headers: headers, payload: [1, 2]) {
            DeadLetterHeaders(Delivery(stamp, $0), deliveries: 5, reason: reason).encoded(after: $0.headers)
        }
        return try withParts(name: "notifyd.dead.7", object: "jobs", headers: encoded, payload: [1, 2]) {
            try body(Delivery(Stamp(sequence: 9, timeMicroseconds: 8, uid: 0, gid: 0, pid: 1), $0))
        }
    }

    @Test func `a dead letter contains its original message`() throws {
        let own = try HeaderList.encode([("k", "v"), ("content-type", "text/plain")])
        try withDeadLetter(name: "jobs.ü", object: "ob", messageID: "id", headers: own) { letter in
            let headers = try #require(DeadLetterHeaders(reading: letter.parts.headers))
            #expect(headers.deliveries == 5 && headers.reason == "exit 1")
            let found: Bool? = DeadLetterHeaders.withOriginal(of: letter) { stamp, parts in
                #expect(stamp == self.stamp)
                #expect(Array(parts.name) == Array("jobs.ü".utf8))
                #expect(Array(parts.object) == Array("ob".utf8))
                #expect(Array(parts.messageID) == Array("id".utf8))
                #expect(Array(parts.headers) == own)
                #expect(Array(parts.payload) == [1, 2])
                return true
            }
            #expect(found == true)
        }
    }

    @Test func `empty values have no header`() throws {
        try withDeadLetter(name: "a", reason: "") { letter in
            let keys = try HeaderList.decode(letter.parts.headers).map(\.key)
            #expect(
                keys == [
                    "notifyd-name", "notifyd-sequence", "notifyd-time", "notifyd-uid", "notifyd-gid", "notifyd-pid",
                    "notifyd-deliveries",
                ])
            let headers = try #require(DeadLetterHeaders(reading: letter.parts.headers))
            #expect(headers.object.isEmpty && headers.messageID.isEmpty && headers.reason.isEmpty)
        }
    }

    @Test func `the largest dead letter is within the limits of reserved headers`() throws {
        let longest = String(repeating: "x", count: 255)
        let own = try HeaderList.encode((0..<64).map { ("k\($0)", String(repeating: "v", count: 246)) })
        let reason = String(repeating: "é", count: 4_000)
        try withDeadLetter(name: longest, object: longest, messageID: longest, headers: own, reason: reason) { letter in
            #expect(try HeaderList.decode(letter.parts.headers).count == 74)
            let headers = try #require(DeadLetterHeaders(reading: letter.parts.headers))
            #expect(headers.reason == String(repeating: "é", count: 638) + "…")
        }
    }

    @Test(arguments: [
        "notifyd-name", "notifyd-sequence", "notifyd-time", "notifyd-uid", "notifyd-gid", "notifyd-pid",
        "notifyd-deliveries",
    ])
    func `a message without one of the headers is no dead letter`(_ key: String) throws {
        try withDeadLetter(name: "a") { letter in
            let kept = try HeaderList.decode(letter.parts.headers).filter { $0.key != key }
            let bytes = [UInt8]().withUnsafeBytes { HeaderList.encodeReserved(kept, after: $0) }
            bytes.withUnsafeBytes { #expect(DeadLetterHeaders(reading: $0) == nil) }
            let wrong = kept + [(key: key, value: "-1")]
            let other = [UInt8]().withUnsafeBytes { HeaderList.encodeReserved(wrong, after: $0) }
            other.withUnsafeBytes { #expect((DeadLetterHeaders(reading: $0) == nil) == (key != "notifyd-name")) }
        }
    }
}
