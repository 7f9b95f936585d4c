import CCloseOnExecEpoll
import Glibc
import Testing

/// The `epoll_create` that programs with the client contain instead of the C library's.
@Suite struct EpollCreateTests {
    @Test func `descriptors are close-on-exec`() {
        let descriptor = epoll_create(1)
        defer { close(descriptor) }
        #expect(fcntl(descriptor, F_GETFD) == FD_CLOEXEC)
    }

    @Test(arguments: [0, -1] as [CInt])
    func `a size that is not positive is refused`(size: CInt) {
        let result = epoll_create(size)
        let error = errno
        #expect(result == -1)
        #expect(error == EINVAL)
    }
}
