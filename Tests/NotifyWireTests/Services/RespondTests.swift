import NIOCore
import NotifyWire
import Testing
import WireTestSupport

@Suite struct RespondTests {
    private func encode(
        call: UInt64 = 1, _ outcome: Respond.Outcome = .replied, headers: [UInt8] = [], payload: [UInt8] = []
    ) -> [UInt8] {
        var buffer = ByteBuffer()
        headers.withUnsafeBytes { headers in
            payload.withUnsafeBytes { payload in
                Respond(call: call, outcome: outcome, headers: headers, payload: payload).append(to: &buffer)
            }
        }
        return Array(buffer.readableBytesView)
    }

    @Test(arguments: Respond.Outcome.allCases)
    func `a response is decoded as encoded`(_ outcome: Respond.Outcome) throws {
        let headers = try HeaderList.encode([("k", "v")])
        let bytes = encode(call: 0x0102_0304_0506_0708, outcome, headers: headers, payload: [1, 2, 3, 4])
        try withFrame(bytes) { frame in
            #expect(frame.kind == FrameKind.respond.rawValue)
            let respond = try Respond(frame)
            #expect(respond.call == 0x0102_0304_0506_0708)
            #expect(respond.outcome == outcome)
            #expect(Array(respond.headers) == headers)
            #expect(Array(respond.payload) == [1, 2, 3, 4])
            let base = try #require(frame.body.baseAddress)
            #expect(respond.headers.baseAddress == base + Respond.fixedSize)
        }
    }

    @Test func `a response without content is decoded`() throws {
        try withFrame(encode()) { frame in
            let respond = try Respond(frame)
            #expect(respond.headers.isEmpty && respond.payload.isEmpty)
        }
    }

    @Test func `a response truncated before its payload is malformed`() throws {
        let headers = try HeaderList.encode([("k", "v")])
        let body = Array(encode(headers: headers, payload: [1, 2])[8...])
        for count in 0...body.count {
            let cut = rawFrame(FrameKind.respond.rawValue, Array(body[..<count]))
            if count < body.count - 2 {
                #expect(throws: WireError.truncated, "cut at \(count)") { try withFrame(cut) { _ = try Respond($0) } }
            } else {
                #expect(try withFrame(cut) { try Respond($0).payload.count } == count - body.count + 2)
            }
        }
    }

    @Test(arguments: UInt8.min ... .max)
    func `every outcome is decoded or refused`(_ value: UInt8) throws {
        var bytes = encode()
        bytes[8 + 8] = value
        if let outcome = Respond.Outcome(rawValue: value) {
            #expect(try withFrame(bytes) { try Respond($0).outcome } == outcome)
        } else {
            let error = try #require(throws: WireError.self) { try withFrame(bytes) { _ = try Respond($0) } }
            #expect(error.code == .invalidArgument)
            #expect(error.message.contains("unknown outcome \(value)"))
        }
    }

    @Test(arguments: UInt8.min ... .max)
    func `unknown flags are refused`(_ flags: UInt8) throws {
        var bytes = encode()
        bytes[5] = flags
        if flags == 0 {
            #expect(try withFrame(bytes) { try Respond($0).call } == 1)
        } else {
            let error = try #require(throws: WireError.self) { try withFrame(bytes) { _ = try Respond($0) } }
            #expect(error.code == .unsupported)
        }
    }

    @Test func `the reserved byte is ignored`() throws {
        var bytes = encode(payload: [1])
        bytes[8 + 9] = 0xFF
        #expect(try withFrame(bytes) { try Respond($0).payload.count } == 1)
    }
}
