import Glibc
import Logging
import NIOCore
import NIOPosix
import NotifyBroker
import NotifyLog
import NotifyWire
import Testing

@testable import NotifyServer

/// The socket of a connection on a real channel, once the channel has closed it.
@Suite struct ClosedSocketTests {
    private func socketPair() throws -> (CInt, CInt) {
        var ends: [CInt] = [-1, -1]
        let status = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends)
        try #require(status == 0)
        return (ends[0], ends[1])
    }

    @Test func `nothing is sent to a file that has the number of a closed socket`() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let (own, peer) = try socketPair()
        let (other, otherPeer) = try socketPair()
        defer { for descriptor in [own, peer, other, otherPeer] { close(descriptor) } }
        let handler = try await loop.submit {
            let harness = DriverHarness.makeDriver(on: loop, store: ManualStore(), log: CapturedLog(level: .info))
            let peer = Peer(identity: Identity(uid: 1000, gid: 1000), pid: 77)
            return NIOLoopBound(ConnectionHandler(driver: harness, peer: peer), eventLoop: loop)
        }.get()
        let channel = try await ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(handler.value)
                }
            }
            .withConnectedSocket(own).get()
        let sent = try await loop.submit { () -> Int in
            handler.value.write(ByteBuffer(string: "before"))
            handler.value.flush()
            channel.close(promise: nil)
            // The number is used again at once.
            #expect(dup2(other, own) == own)
            handler.value.write(ByteBuffer(string: "after"))
            handler.value.flush()
            handler.value.close()
            var buffer = [UInt8](repeating: 0, count: 100)
            return recv(otherPeer, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        }.get()
        #expect(sent == -1, "the other file got \(sent) bytes")
        var buffer = [UInt8](repeating: 0, count: 100)
        #expect(recv(peer, &buffer, buffer.count, 0) == "before".utf8.count)
        #expect(recv(peer, &buffer, buffer.count, 0) == 0)
        try await group.shutdownGracefully()
    }
}
