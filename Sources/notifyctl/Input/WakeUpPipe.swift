import Glibc
import SystemPackage

/// A pipe that ends a `poll`: it becomes readable at the first `wakeUp()`.
final class WakeUpPipe: Sendable {
    /// The end to poll.
    let descriptor: Int32
    private let writeEnd: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "can't create a pipe: \(Errno(rawValue: errno))")
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // Writing never blocks: a full pipe is readable anyway.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        (descriptor, writeEnd) = (ends[0], ends[1])
    }

    deinit {
        close(descriptor)
        close(writeEnd)
    }

    /// Makes the pipe readable. It stays so, because nothing reads from it.
    func wakeUp() {
        var byte: UInt8 = 1
        _ = write(writeEnd, &byte, 1)
    }
}
