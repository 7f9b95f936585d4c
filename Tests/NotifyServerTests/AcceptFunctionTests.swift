import CCloseOnExecAccept
import Glibc
import NotifySystem
import TestSupport
import Testing

@testable import NotifyServer

/// The `accept4` that the daemon contains instead of the C library's.
@Suite struct AcceptFunctionTests {
    @Test(arguments: [0, O_NONBLOCK])
    func `accepted connections are close-on-exec`(flags: CInt) throws {
        let folder = try TemporaryFolder()
        let listening = try ListeningSocket.bind(path: folder.file("n.sock"), mode: 0o600)
        let listener = try listening.copyDescriptor()
        try #require(listen(listener.rawValue, 1) == 0)
        let client = try OwnedDescriptor.unixSocket(SOCK_STREAM)
        let address = try #require(UnixSocketAddress(path: listening.path))
        try #require(address.withSockaddr { connect(client.rawValue, $0, $1) } == 0)
        let accepted = OwnedDescriptor(owning: accept4(listener.rawValue, nil, nil, flags))
        #expect(fcntl(accepted.rawValue, F_GETFD) == FD_CLOEXEC)
        #expect(fcntl(accepted.rawValue, F_GETFL) & O_NONBLOCK == flags)
    }
}
