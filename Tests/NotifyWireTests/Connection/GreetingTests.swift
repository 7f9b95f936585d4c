import NotifyWire
import Testing
import WireTestSupport

@Suite struct GreetingTests {
    private let hello = Hello(overflow: .disconnect, instance: InstanceID(high: 0x0102, low: 0x0304))

    @Test func `a hello begins with the magic number`() {
        #expect(Array(hello.encoded[8..<12]) == Array("NTFY".utf8))
    }

    @Test func `another magic number is not a greeting`() throws {
        var bytes = hello.encoded
        bytes[8] = UInt8(ascii: "n")
        let error = try #require(throws: WireError.self) { try Hello.decode(bytes) }
        #expect(error.code == .greetingExpected)
    }

    @Test(arguments: UInt8.min ... .max)
    func `every overflow policy is decoded or refused`(_ value: UInt8) throws {
        var bytes = hello.encoded
        bytes[16] = value
        if let policy = OverflowPolicy(rawValue: value) {
            #expect(try Hello.decode(bytes).overflow == policy)
        } else {
            let error = try #require(throws: WireError.self) { try Hello.decode(bytes) }
            #expect(error.code == .invalidArgument)
        }
    }

    @Test func `hello and welcome fit the greeting limit`() {
        #expect(hello.encoded.count - FrameHeader.size <= Limits.greetingBytes)
        let welcome = Welcome(
            version: 1, uid: 0, gid: 0, pid: 0, maximumPayloadBytes: 0, postWindow: 0, maximumWindow: 0,
            maximumSubscriptions: 0, daemonInstance: .random(), clientInstance: .random(),
            daemonVersion: String(repeating: "v", count: 255))
        #expect(welcome.encoded.count - FrameHeader.size <= Limits.greetingBytes)
    }

    @Test func `a welcome without an epoch is read`() throws {
        let body: [UInt8] = [1] + Array(repeating: 0, count: 64)
        let welcome = try body.withUnsafeBytes { bytes in
            var reader = FieldReader(bytes)
            return try Welcome(flags: 0, reading: &reader)
        }
        #expect(welcome.version == 1)
        #expect(welcome.epoch == 0)
    }

    @Test func `random instances differ`() {
        #expect(Set((0..<100).map { _ in InstanceID.random() }).count == 100)
    }
}
