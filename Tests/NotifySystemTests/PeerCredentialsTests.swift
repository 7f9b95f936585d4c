import Glibc
import NotifySystem
import SystemPackage
import Testing

@Suite struct PeerCredentialsTests {
    @Test func `a socket pair has the credentials of this process`() throws {
        var pair: [CInt] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        defer { for descriptor in pair { close(descriptor) } }
        var groups = [gid_t](repeating: 0, count: 65_536)
        groups.removeLast(groups.count - Int(getgroups(CInt(groups.count), &groups)))
        let own = PeerCredentials(processID: getpid(), userID: geteuid(), groupID: getegid(), groups: groups.sorted())
        #expect(try PeerCredentials(of: FileDescriptor(rawValue: pair[0])) == own)
    }

    @Test func `an unconnected socket has no credentials`() throws {
        let socket = try OwnedDescriptor.unixSocket(SOCK_STREAM)
        #expect(throws: Errno.socketNotConnected) { _ = try PeerCredentials(of: socket.descriptor) }
        let file = try OwnedDescriptor.open("/dev/null", .readOnly)
        #expect(throws: Errno.notSocket) { _ = try PeerCredentials(of: file.descriptor) }
    }
}
