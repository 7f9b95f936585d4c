import CGNU
import Glibc
import SystemPackage

/// A pipe that ends a `poll`: it becomes readable at the first `wakeUp()`.
final class WakeUpPipe: Sendable {
    /// The end to poll.
    let descriptor: Int32
    private let writeEnd: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        precondition(pipe2(&ends, O_CLOEXEC) == 0, "can't create a pipe: \(Errno(rawValue: errno))")
        // A write never blocks. It fails if the pipe is full, but then the pipe is readable already.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        (descriptor, writeEnd) = (ends[0], ends[1])
    }

    deinit {
        close(descriptor)
        close(writeEnd)
    }

    /// Makes the pipe readable. The pipe stays readable, because nothing reads from it.
    func wakeUp() {
        var byte: UInt8 = 1
        _ = write(writeEnd, &byte, 1)
    }
}
