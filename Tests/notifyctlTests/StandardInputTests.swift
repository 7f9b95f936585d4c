import Glibc
import Testing

@testable import notifyctl

@Suite struct StandardInputTests {
    @Test func `pipes, files and sockets are read by default`() throws {
        let (read, write) = try makePipe()
        var sockets: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &sockets) == 0)
        let file = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
        for descriptor in [read, file, sockets[0]] { #expect(StandardInput.hasContent(descriptor)) }
        for descriptor in [read, write, file] + sockets { close(descriptor) }
    }

    @Test func `terminals, the null device and closed descriptors are not read by default`() throws {
        let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(isatty(terminal) == 1)
        for descriptor in [null, terminal, -1] { #expect(!StandardInput.hasContent(descriptor)) }
        close(null)
        close(terminal)
    }
}
