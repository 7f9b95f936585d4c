import Glibc

/// Standard output, gathered into large writes.
///
/// A write that waits for its reader ends when the interruption comes, so that neither a signal nor a timeout has to wait
/// for a reader that has stopped reading.
struct StandardOutput: ~Copyable {
    enum Failure: Error {
        /// Nobody reads it any more.
        case readerGone
        /// The interruption came first.
        case interrupted
    }

    /// Flush once this much has gathered.
    static let flushBytes = 256 << 10

    /// A descriptor that takes this much when it says that it takes anything does not block (PIPE_BUF).
    private static let portion = 4096

    private let descriptor: Int32
    private let interruption: Int32?
    private let isPatient: Bool
    private(set) var buffer: [UInt8] = []
    /// How much of the buffer was written by a flush that did not come to its end.
    private(set) var writtenBytes = 0

    /// - Parameter interruption: A descriptor that is readable once there is something better to do than to wait.
    init(descriptor: Int32 = STDOUT_FILENO, interruption: Int32? = nil) {
        self.descriptor = descriptor
        self.interruption = interruption
        isPatient = interruption == nil
    }

    var isFull: Bool { buffer.count >= Self.flushBytes }

    mutating func append(_ text: String) {
        buffer.append(contentsOf: text.utf8)
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        buffer.append(contentsOf: bytes)
    }

    /// Lets a writer of bytes add to what has gathered.
    mutating func gather(_ body: (inout [UInt8]) -> Void) {
        body(&buffer)
    }

    /// Writes out everything that has gathered.
    mutating func flush() throws {
        writtenBytes = 0
        while writtenBytes < buffer.count {
            let left = buffer.count - writtenBytes
            if !isPatient { try waitUntilWritable() }
            let count = buffer.withUnsafeBytes { bytes in
                write(
                    descriptor, bytes.baseAddress?.advanced(by: writtenBytes),
                    isPatient ? left : min(left, Self.portion))
            }
            let code = errno
            if count > 0 {
                writtenBytes += count
            } else if count < 0 {
                switch code {
                case EINTR, EAGAIN: continue
                case EPIPE: throw Failure.readerGone
                default:
                    throw CommandFailure(
                        .failure, "standard output can't be written: \(String(cString: strerror(code)))")
                }
            }
        }
        buffer.removeAll(keepingCapacity: true)
        writtenBytes = 0
    }

    private func waitUntilWritable() throws {
        guard let interruption else { return }
        var descriptors = [
            pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0),
            pollfd(fd: interruption, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&descriptors, nfds_t(descriptors.count), -1) < 0 && errno == EINTR {}
        // What the reader takes is written first; only waiting for it is not worth while any more.
        if descriptors[0].revents == 0, descriptors[1].revents != 0 { throw Failure.interrupted }
    }
}
