import Glibc
import SystemPackage

/// A pipe that becomes readable when it is raised, to end a `poll`.
final class WakeupPipe: Sendable {
    /// The end to poll.
    let descriptor: Int32
    private let writeEnd: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "no descriptor can be opened: \(Errno(rawValue: errno))")
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // A full pipe is readable already.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        (descriptor, writeEnd) = (ends[0], ends[1])
    }

    deinit {
        close(descriptor)
        close(writeEnd)
    }

    /// Makes it readable for good.
    func raise() {
        var byte: UInt8 = 1
        _ = write(writeEnd, &byte, 1)
    }
}
