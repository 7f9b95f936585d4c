import NotifyLog
@testable import NotifyBroker
import NotifyWire
import Testing
import WireTestSupport

struct GreetingTests {
    private func fatal(_ client: Client) -> ErrorCode? {
        let errors = client.takeErrors()
        guard errors.count == 1, errors[0].isFatal else { return nil }
        return ErrorCode(rawValue: errors[0].code)
    }

    @Test func `the welcome has the identity and the limits`() {
        let host = TestHost()
        let client = host.connect(Peer(uid: 5, gid: 6, pid: 7), greeting: nil)
        client.send(Hello(lowestVersion: 0, highestVersion: 9, instance: .one))
        host.run()
        #expect(
            client.take() == [
                .welcome(
                    Welcome(
                        version: 1, uid: 5, gid: 6, pid: 7, maximumPayloadBytes: 1 << 20, postWindow: 8192,
                        maximumWindow: 16_384, maximumSubscriptions: 4096,
                        daemonInstance: InstanceID(high: 1, low: 2), clientInstance: .one, daemonVersion: "1.2.3"))
            ])
    }

    @Test(arguments: [(1, 1), (0, 1), (1, 65535), (0, 2)] as [(UInt16, UInt16)])
    func `a version in both ranges is accepted`(_ low: UInt16, _ high: UInt16) {
        let host = TestHost()
        let client = host.connect(Peer(uid: 5, gid: 6, pid: 7), greeting: nil)
        client.send(Hello(lowestVersion: low, highestVersion: high, instance: .one))
        host.run()
        guard case .welcome(let welcome)? = client.take().first else {
            Issue.record("no welcome")
            return
        }
        #expect(welcome.version == 1)
    }

    @Test(arguments: [(0, 0), (2, 3), (3, 2), (65535, 65535)] as [(UInt16, UInt16)])
    func `a hello without a supported version is refused`(_ low: UInt16, _ high: UInt16) {
        let host = TestHost()
        let client = host.connect(greets: false)
        client.send(Hello(lowestVersion: low, highestVersion: high, instance: .one))
        host.run()
        #expect(fatal(client) == .unsupportedVersion)
        #expect(client.isClosed)
        #expect(host.connectionCount == 0)
    }

    @Test func `a hello may arrive byte by byte`() {
        let host = TestHost()
        let client = host.connect(greets: false)
        for byte in Hello(instance: .one).encoded {
            #expect(client.inbox.isEmpty)
            client.send([byte])
            host.run()
        }
        guard case .welcome? = client.take().first else {
            Issue.record("no welcome")
            return
        }
        #expect(host.amount(of: .receivedBytes, 1000) == 0)
    }

    @Test(arguments: [512, 513])
    func `a hello over 512 bytes is refused`(_ bytes: Int) {
        let host = TestHost()
        let client = host.connect(greets: false)
        let body = Hello(instance: .one).encoded.dropFirst(FrameHeader.size)
        client.send(rawFrame(FrameKind.hello.rawValue, body + [UInt8](repeating: 0, count: bytes - body.count)))
        host.run()
        #expect(client.isClosed == (bytes == 513))
        if bytes == 513 { #expect(fatal(client) == .frameTooLarge) }
    }

    @Test(arguments: [
        (Ping(request: 1).encoded, ErrorCode.greetingExpected),
        (rawFrame(0x77), .greetingExpected),
        (rawFrame(1, [UInt8](repeating: 0, count: 28)), .greetingExpected),
        (rawFrame(1, [0x4E, 0x54, 0x46, 0x59, 1, 0]), .malformedFrame),
        (rawFrame(1, [0x4E, 0x54, 0x46, 0x59, 1, 0, 1, 0, 3] + [UInt8](repeating: 0, count: 19)), .invalidArgument),
        (Array("GET / HTTP/1.1\r\n\r\n".utf8), .frameTooLarge),
        ([0xFF, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0], .frameTooLarge),
    ])
    func `a first frame other than a valid hello is answered and closes the connection`(
        _ bytes: [UInt8], _ code: ErrorCode
    ) {
        let host = TestHost()
        let other = host.connect()
        let client = host.connect(greets: false)
        client.send(bytes)
        client.send(Hello(instance: .one))
        host.run()
        #expect(fatal(client) == code)
        #expect(client.isClosed)
        other.ping()
        host.run()
        #expect(other.take() == [.pong(Pong(request: 1))], "other connections are not affected")
    }

    @Test func `a silent connection is closed at the greeting deadline`() {
        let host = TestHost()
        let client = host.connect(greets: false)
        #expect(host.nextDeadline == .seconds(10))
        host.advance(.milliseconds(9999))
        #expect(client.inbox.isEmpty)
        host.advance(.milliseconds(1))
        let errors = client.takeErrors()
        #expect(errors.map(\.code) == [ErrorCode.greetingTimeout.rawValue])
        #expect(errors.first?.message == "no hello within 10 s")
        #expect(client.isClosed)
        #expect(host.nextDeadline == nil)
    }

    @Test func `a connection that does not read its error is closed at the deadline`() {
        let host = TestHost()
        let client = host.connect(greets: false)
        client.stopTaking()
        client.send(rawFrame(0x77))
        host.run()
        #expect(!client.isClosed)
        #expect(host.nextDeadline == .seconds(2))
        host.advance(.milliseconds(1999))
        #expect(!client.isClosed)
        host.advance(.milliseconds(1))
        #expect(client.isClosed)
        #expect(host.connectionCount == 0)
    }

    @Test func `a greeted connection has no deadline`() {
        let host = TestHost()
        let client = host.connect()
        #expect(host.nextDeadline == nil)
        host.advance(.seconds(1000))
        #expect(!client.isClosed)
    }

    @Test func `a second hello closes the connection`() {
        let host = TestHost()
        let client = host.connect()
        client.send(Hello(instance: .one))
        host.run()
        #expect(fatal(client) == .malformedFrame)
        #expect(client.isClosed)
    }
}
