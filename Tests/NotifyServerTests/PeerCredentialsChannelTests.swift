import Glibc
import NIOCore
import NIOPosix
import NotifySystem
import SystemPackage
import Testing
import TestSupport

@testable import NotifyServer

@Suite(.timeLimit(.minutes(25))) struct PeerCredentialsChannelTests {
    @Test func `credentials are known in the channel initializer`() async throws {
        let folder = try TemporaryFolder()
        let listening = try ListeningSocket.bind(path: folder.file("n.sock"), mode: 0o600)
        let descriptor = try listening.copyDescriptor().release().rawValue
        let group = MultiThreadedEventLoopGroup.singleton
        let accepted = group.any().makePromise(of: PeerCredentials.self)
        let server = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try PeerCredentials(ofAccepted: channel) }
                    .always { accepted.completeWith($0) }.map { _ in }
            }
            .withBoundSocket(descriptor).get()
        let client = try await ClientBootstrap(group: group).connect(unixDomainSocketPath: listening.path).get()
        let credentials = try await accepted.futureResult.get()
        #expect(credentials.processID == getpid())
        #expect(credentials.userID == geteuid() && credentials.groupID == getegid())
        try await client.close()
        try await server.close()
    }
}
