import Glibc

/// A descriptor that becomes readable when it is raised: what threads, and `poll`, can wait for.
final class Signal: Sendable {
    /// The end to wait at.
    let descriptor: Int32
    private let raisingEnd: Int32

    init() {
        (descriptor, raisingEnd) = Self.makePipe()
    }

    deinit {
        close(descriptor)
        close(raisingEnd)
    }

    func raise() {
        Self.raise(raisingEnd)
    }

    /// Waits until it is raised, and takes that back.
    func wait() {
        var byte: UInt8 = 0
        while read(descriptor, &byte, 1) < 0 && errno == EINTR {}
    }

    /// A pipe that nobody else inherits. Writing to it never waits: a full one is as readable as can be.
    static func makePipe() -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "no descriptor can be opened: \(String(cString: strerror(errno)))")
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        return (ends[0], ends[1])
    }

    /// Allowed in a signal handler.
    static func raise(_ descriptor: Int32) {
        var byte: UInt8 = 1
        _ = write(descriptor, &byte, 1)
    }
}
