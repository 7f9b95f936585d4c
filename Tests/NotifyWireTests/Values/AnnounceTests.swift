import NIOCore
import NotifyWire
import Testing
import WireTestSupport

@Suite struct AnnounceTests {
    private let headers: [UInt8]
    private let willHeaders: [UInt8]

    init() throws {
        headers = try HeaderList.encode([("k", "v")])
        willHeaders = try HeaderList.encode([("why", "lost"), ("empty", "")])
    }

    @Test(arguments: [false, true])
    func `an announced value without a will is decoded as encoded`(_ takesOver: Bool) throws {
        let bytes = announceFrame(
            .max, "a.b", object: "o", headers: headers, payload: [1, 2], grace: Limits.maximumGrace,
            takesOver: takesOver)
        try withFrame(bytes) { frame in
            let announce = try Announce(frame)
            #expect(announce.request == .max && announce.graceMilliseconds == 600_000)
            #expect(announce.takesOver == takesOver)
            #expect(announce.will == nil)
            #expect(Array(announce.parts.name) == Array("a.b".utf8) && Array(announce.parts.object) == [0x6F])
            #expect(Array(announce.parts.headers) == headers && Array(announce.parts.payload) == [1, 2])
            #expect(announce.parts.messageID.isEmpty)
            let base = try #require(frame.body.baseAddress)
            #expect(announce.parts.name.baseAddress == base + Announce.fixedSize)
            #expect(encoded(announce) == bytes)
        }
    }

    @Test(arguments: [false, true], [[], [3, 4, 5]] as [[UInt8]])
    func `an announced value with a will is decoded as encoded`(_ hasHeaders: Bool, payload: [UInt8]) throws {
        let own = hasHeaders ? willHeaders : []
        let bytes = announceFrame(9, "a", headers: headers, payload: [1, 2], will: (headers: own, payload: payload))
        try withFrame(bytes) { frame in
            let announce = try Announce(frame)
            #expect(announce.request == 9 && announce.graceMilliseconds == 0 && !announce.takesOver)
            #expect(Array(announce.parts.name) == [0x61] && announce.parts.object.isEmpty)
            #expect(Array(announce.parts.headers) == headers && Array(announce.parts.payload) == [1, 2])
            let will = try #require(announce.will)
            #expect(Array(will.headers) == own && Array(will.payload) == payload)
            #expect(encoded(announce) == bytes)
        }
    }

    @Test func `a value without a will is malformed if it is cut`() throws {
        let body = Array(announceFrame(1, "a", object: "o", headers: headers, payload: [1, 2])[8...])
        for count in 0..<body.count {
            #expect(throws: WireError.truncated, "cut at \(count)") { try decode(body, count) }
        }
    }

    @Test func `a value with a will is malformed if it is cut before the payload of the will`() throws {
        let will = (headers: willHeaders, payload: [3, 4, 5] as [UInt8])
        let body = Array(announceFrame(1, "a", object: "o", headers: headers, payload: [1, 2], will: will)[8...])
        let payloadStart = body.count - will.payload.count
        for count in 0..<payloadStart {
            #expect(throws: WireError.truncated, "cut at \(count)") { try decode(body, count) }
        }
        for count in payloadStart...body.count {
            try withFrame(rawFrame(FrameKind.announce.rawValue, Array(body[..<count]))) { frame in
                let payload = try #require(try Announce(frame).will).payload
                #expect(Array(payload) == Array(will.payload.prefix(count - payloadStart)))
            }
        }
    }

    @Test func `bytes after a value without a will make the frame malformed`() throws {
        var body = Array(announceFrame(1, "a", payload: [1, 2])[8...])
        let error = try #require(throws: WireError.self) { try decode(body + [0], body.count + 1) }
        #expect(error.code == .malformedFrame && error.message.contains("without a will"))
        // The headers of a will.
        body[18] = 1
        #expect(throws: error) { try decode(body + [0], body.count + 1) }
    }

    @Test func `a payload longer than any frame makes the frame malformed`() throws {
        var body = Array(announceFrame(1, "a")[8...])
        body.replaceSubrange(12..<16, with: [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(throws: WireError.truncated) { try decode(body, body.count) }
    }

    @Test(arguments: [4, 8, 16, 32, 64, 128] as [UInt8])
    func `unknown options and flags are refused`(_ option: UInt8) throws {
        var body = Array(announceFrame(1, "a", takesOver: true)[8...])
        let flagged = rawFrame(FrameKind.announce.rawValue, flags: option, body)
        body[22] |= option
        for bytes in [flagged, rawFrame(FrameKind.announce.rawValue, body)] {
            let error = try #require(throws: WireError.self) { try withFrame(bytes) { _ = try Announce($0) } }
            #expect(error.code == .unsupported)
        }
    }

    @Test func `the reserved byte of an announced value is ignored`() throws {
        var body = Array(announceFrame(1, "a", payload: [7])[8...])
        body[23] = 0xFF
        try withFrame(rawFrame(FrameKind.announce.rawValue, body)) { frame in
            let announce = try Announce(frame)
            #expect(Array(announce.parts.payload) == [7])
        }
    }

    @Test func `a withdraw cut before its headers is malformed`() throws {
        let withdraw = Withdraw(request: 1, name: "a.b", object: "o", headers: headers)
        let body = Array(withdraw.encoded[8...])
        let headersStart = body.count - headers.count
        for count in 0..<headersStart {
            let cut = rawFrame(FrameKind.withdraw.rawValue, Array(body[..<count]))
            #expect(throws: WireError.truncated, "cut at \(count)") { try Withdraw.decode(cut) }
        }
        let bare = try Withdraw.decode(rawFrame(FrameKind.withdraw.rawValue, Array(body[..<headersStart])))
        #expect(bare == Withdraw(request: 1, name: "a.b", object: "o"))
    }

    @Test(arguments: ClearedHeader.Reason.allCases)
    func `the reason of a clear follows the headers of the poster`(_ reason: ClearedHeader.Reason) throws {
        let encoded = headers.withUnsafeBytes { ClearedHeader.encoded(reason, after: $0) }
        try encoded.withUnsafeBytes { headers in
            let decoded = try HeaderList.decode(headers).map { "\($0.key)=\($0.value)" }
            #expect(decoded == ["k=v", "notifyd-cleared=\(reason.rawValue)"])
            #expect(ClearedHeader.reason(in: headers) == reason.rawValue)
            #expect(!EphemeralHeader.isPresent(in: headers))
            #expect(throws: WireError.self) { try HeaderList.validate(headers) }
        }
    }

    @Test func `the headers of an announced value have the ephemeral header, and clients can't add it`() throws {
        for own in [[], headers] {
            let encoded = own.withUnsafeBytes { EphemeralHeader.encoded(after: $0) }
            try encoded.withUnsafeBytes { headers in
                let decoded = try HeaderList.decode(headers).map { "\($0.key)=\($0.value)" }
                #expect(decoded == (own.isEmpty ? [] : ["k=v"]) + ["notifyd-ephemeral=true"])
                #expect(EphemeralHeader.isPresent(in: headers))
                #expect(ClearedHeader.reason(in: headers) == nil)
                #expect(throws: WireError.self) { try HeaderList.validate(headers) }
            }
            #expect(own.withUnsafeBytes { !EphemeralHeader.isPresent(in: $0) })
        }
    }

    private func encoded(_ announce: Announce) -> [UInt8] {
        var buffer = ByteBuffer()
        announce.append(to: &buffer)
        return Array(buffer.readableBytesView)
    }

    /// Decodes the first `count` bytes of a body.
    private func decode(_ body: [UInt8], _ count: Int) throws {
        try withFrame(rawFrame(FrameKind.announce.rawValue, Array(body[..<count]))) { _ = try Announce($0) }
    }
}
