import NotifyLog
@testable import NotifyBroker
import NotifyWire
import Testing
import WireTestSupport

struct BadInputTests {
    @Test(arguments: [0x00, 0x24, 0x3F, 0x40, 0x41, 0x50, 0x60, 0xFF] as [UInt8])
    func `an unknown frame kind is answered and the connection stays open`(_ kind: UInt8) {
        let host = TestHost()
        let client = host.connect()
        client.send(rawFrame(kind, [1, 2, 3]))
        client.ping()
        host.run()
        let received = client.take()
        guard case .error(let error)? = received.first else {
            Issue.record("\(received)")
            return
        }
        #expect(error.code == ErrorCode.unknownFrame.rawValue)
        #expect(error.detail == UInt64(kind))
        #expect(!error.isFatal)
        #expect(received.last == .pong(Pong(request: 1)))
    }

    private static let longPing = rawFrame(FrameKind.ping.rawValue, [UInt8](repeating: 1, count: 9))

    @Test(arguments: [
        longPing,
        rawFrame(FrameKind.ping.rawValue, [1, 2, 3]),
        rawFrame(FrameKind.ping.rawValue),
        rawFrame(FrameKind.post.rawValue, [UInt8](repeating: 1, count: 15)),
        rawFrame(FrameKind.post.rawValue, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 97]),
        rawFrame(FrameKind.subscribe.rawValue, [1, 0, 0, 0, 0, 0, 0, 0, 1]),
        rawFrame(FrameKind.acknowledge.rawValue, [1, 0, 0, 0, 2, 0, 0, 0, 1]),
        rawFrame(FrameKind.credit.rawValue, [1]),
        rawFrame(FrameKind.detach.rawValue, [1, 0, 0, 0, 0, 0, 0, 0]),
        rawFrame(FrameKind.remove.rawValue, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0xFF, 0xFF, 0xFF]),
    ])
    func `a malformed frame closes the connection`(_ bytes: [UInt8]) {
        let host = TestHost()
        let client = host.connect()
        client.send(bytes + Ping(request: 99).encoded)
        host.run()
        let received = client.take()
        guard received.count == 1, case .error(let error)? = received.first else {
            Issue.record("\(received)")
            return
        }
        #expect(error.code == ErrorCode.malformedFrame.rawValue)
        #expect(error.isFatal)
        #expect(client.isClosed)
    }

    @Test(arguments: [-1, 0, 1])
    func `a frame over the limit closes the connection as soon as its length is read`(_ over: Int) {
        let host = TestHost()
        let client = host.connect()
        let length = UInt32(host.configuration.maximumPayloadBytes + Limits.frameOverheadBytes + over)
        client.send((0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) } + [2, 0, 0, 0])
        host.run()
        #expect(client.isClosed == (over > 0))
        #expect(client.takeErrors().map(\.code) == (over > 0 ? [ErrorCode.frameTooLarge.rawValue] : []))
    }

    @Test func `request numbers must increase`() {
        let host = TestHost()
        let client = host.connect()
        for request in [0, 5, 5, 3, 6] as [UInt64] { client.send(Ping(request: request)) }
        client.send(postFrame(6, name: Array("a".utf8)))
        host.run()
        let received = client.take()
        let codes = received.compactMap { if case .error(let error) = $0 { error.code } else { nil } }
        #expect(codes == [UInt16](repeating: ErrorCode.invalidArgument.rawValue, count: 4))
        #expect(received.contains(.pong(Pong(request: 5))) && received.contains(.pong(Pong(request: 6))))
    }

    @Test func `unknown flags are refused`() {
        let host = TestHost()
        let client = host.connect()
        client.send(rawFrame(FrameKind.ping.rawValue, flags: 1, [1, 0, 0, 0, 0, 0, 0, 0]))
        var post = postFrame(2, name: Array("a".utf8))
        post[5] |= 2
        client.send(post)
        host.run()
        #expect(client.takeErrors().map(\.code) == [27, 27])
        #expect(host.counter("messages_in") == 0)
    }

    @Test func `frames after a fatal error are ignored`() {
        let host = TestHost()
        let client = host.connect()
        client.stopTaking()
        client.send(Self.longPing)
        client.post("a", .stored)
        client.send([UInt8](repeating: 9, count: 500))
        host.run()
        #expect(host.counter("messages_in") == 0)
        #expect(host.amount(of: .receivedBytes, 1000) == 0)
        client.makeRoom()
        host.run()
        #expect(client.takeErrors().count == 1)
        #expect(client.isClosed)
    }

    @Test func `a connection closed within a frame leaves no state behind`() {
        let host = TestHost()
        let client = host.connect()
        client.send(
            Array(postFrame(1, name: Array("a".utf8), payload: [UInt8](repeating: 0, count: 5000)).prefix(3000)))
        host.run()
        #expect(host.amount(of: .receivedBytes, 1000) == 3000)
        host.closed(client)
        #expect(host.holdsNothing(1000))
        host.core.broker.connectionClosed(client.id, now: host.now)
        #expect(host.received([1, 2, 3], from: client.id) == 3, "bytes after the end are discarded")
        host.core.broker.connectionWritable(client.id)
        _ = host.core.broker.settle(client.id, isBlocked: false, now: host.now)
        let late = host.core.broker.nextOutput(for: client.id)
        #expect(late == nil)
        host.run()
    }

    @Test(arguments: [-1, 0, 1])
    func `partial frames are limited per user`(_ over: Int) {
        var configuration = BrokerConfiguration()
        configuration.receivedBytesPerUser = 10_000
        let host = TestHost(configuration)
        let (first, second, stranger) = (host.connect(), host.connect(), host.connect(uid: 2000))
        let frame = postFrame(1, name: Array("a".utf8), payload: [UInt8](repeating: 0, count: 30_000))
        first.send(Array(frame[..<6000]))
        stranger.send(Array(frame[..<9000]))
        second.send(Array(frame[..<(4000 + over)]))
        host.run()
        #expect(!first.isClosed && !stranger.isClosed)
        #expect(second.isClosed == (over > 0))
        #expect(second.takeErrors().map(\.code) == (over > 0 ? [ErrorCode.limitReached.rawValue] : []))
        first.send(Array(frame[6000...]))
        host.run()
        #expect(host.amount(of: .receivedBytes, 1000) == (over > 0 ? 0 : 4000 + over), "the charge is released")
        #expect(first.take().count == 1)
    }
}
