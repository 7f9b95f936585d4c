import Glibc
import NIOCore
import NIOPosix
import Testing

@testable import NotifyServer

@Suite(.timeLimit(.minutes(10))) struct PeerCredentialsTests {
    private let own = PeerCredentials(processID: getpid(), userID: geteuid(), groupID: getegid())

    @Test func ofASocketPairAreThisProcesss() throws {
        var pair: [CInt] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        defer { for descriptor in pair { close(descriptor) } }
        #expect(try PeerCredentials(descriptor: pair[0]) == own)
    }

    @Test func ofASocketThatIsNotConnectedAreAnError() throws {
        let socket = try OwnedDescriptor.unixSocket(SOCK_STREAM)
        let error = #expect(throws: SystemCallError.self) { _ = try PeerCredentials(descriptor: socket.rawValue) }
        #expect(error?.errorNumber == ENOTCONN)
        let file = OwnedDescriptor(owning: open("/dev/null", O_RDONLY | O_CLOEXEC))
        #expect(throws: SystemCallError.self) { _ = try PeerCredentials(descriptor: file.rawValue) }
    }

    @Test func ofAChannelAreKnownInItsInitializer() async throws {
        let folder = try TemporaryFolder()
        let listening = try ListeningSocket.bind(path: folder("n.sock"), mode: 0o600)
        let descriptor = try #require(listening.takeDescriptor())
        let group = MultiThreadedEventLoopGroup.singleton
        let accepted = group.any().makePromise(of: PeerCredentials.self)
        let server = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                PeerCredentials.of(channel).always { accepted.completeWith($0) }.map { _ in }
            }
            .withBoundSocket(descriptor).get()
        let client = try await ClientBootstrap(group: group).connect(unixDomainSocketPath: listening.path).get()
        #expect(try await accepted.futureResult.get() == own)
        try await client.close()
        try await server.close()
    }
}
