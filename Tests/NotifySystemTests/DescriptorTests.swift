import Glibc
import NotifySystem
import SystemPackage
import TestSupport
import Testing

@Suite struct DescriptorTests {
    @Test func `an owned descriptor is closed when its lifetime ends`() throws {
        var ends: [CInt] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let writer = ends[1]
        do {
            let reader = OwnedDescriptor(owning: ends[0])
            #expect(fcntl(reader.rawValue, F_GETFD) >= 0)
        }
        // Writing to a pipe without a reader fails.
        signal(SIGPIPE, SIG_IGN)
        #expect(write(writer, "x", 1) == -1)
        #expect(Errno.last == .brokenPipe)
        close(writer)
    }

    @Test func `a released descriptor stays open`() throws {
        let descriptor = try OwnedDescriptor.open("/dev/null", .readOnly).release()
        #expect(fcntl(descriptor.rawValue, F_GETFD) == FD_CLOEXEC)
        try descriptor.close()
    }

    @Test func `failed calls throw their errno`() throws {
        #expect(throws: Errno.noSuchFileOrDirectory) { _ = try OwnedDescriptor.open("/nonexistent/file", .readOnly) }
        #expect(throws: Errno.badFileDescriptor) { try Errno.check(close(-1)) }
        #expect(try Errno.check(5) == 5)
    }
}
