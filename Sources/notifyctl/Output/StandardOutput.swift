import Glibc
import SystemPackage

/// Standard output, gathered into large writes.
struct StandardOutput: ~Copyable {
    enum Failure: Error {
        /// The reader of the pipe is gone.
        case readerGone
        /// The interruption came first.
        case interrupted
    }

    /// Flush once this much has gathered.
    static let flushBytes = 256 << 10

    /// A pipe that is writable at all takes this much without blocking (PIPE_BUF).
    private static let portion = 4096

    private let descriptor: Int32
    private(set) var buffer: [UInt8] = []
    /// How much of the buffer was written by a flush that failed.
    private(set) var writtenBytes = 0

    init(descriptor: Int32 = STDOUT_FILENO) {
        self.descriptor = descriptor
    }

    /// Fails where nothing can be written, because standard output was closed or opened for reading.
    static func checkIsOpen(_ descriptor: Int32 = STDOUT_FILENO) throws(CommandFailure) {
        // StandardDescriptors has put something to read in the place of one that was closed.
        let mode = fcntl(descriptor, F_GETFL)
        guard mode < 0 || mode & O_ACCMODE == O_RDONLY else { return }
        throw CommandFailure(.failure, "standard output can't be written: it is closed")
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

    /// Writes out everything that has gathered, and blocks while the reader does not read.
    mutating func flush() throws {
        writtenBytes = 0
        while writtenBytes < buffer.count { try write(atMost: .max) }
        buffer.removeAll(keepingCapacity: true)
    }

    /// Writes out everything that has gathered, until the interruption comes, so that neither a signal nor a timeout waits
    /// for a reader that has stopped reading.
    ///
    /// - Throws: ``Failure``; ``writtenBytes`` says then how much was written.
    mutating func flush(until interruption: Interruption) async throws {
        writtenBytes = 0
        while writtenBytes < buffer.count {
            try await waitUntilWritable(until: interruption)
            try write(atMost: Self.portion)
        }
        buffer.removeAll(keepingCapacity: true)
    }

    private mutating func write(atMost limit: Int) throws {
        do {
            writtenBytes += try buffer.withUnsafeBytes { bytes in
                try FileDescriptor(rawValue: descriptor).write(
                    UnsafeRawBufferPointer(rebasing: bytes[writtenBytes...].prefix(limit)))
            }
        } catch Errno.brokenPipe {
            throw Failure.readerGone
        } catch Errno.resourceTemporarilyUnavailable {
            // Another process has made it non-blocking.
            _ = Blocking.poll([(descriptor, Int32(POLLOUT))], isWaiting: true)
        } catch {
            throw CommandFailure(.failure, "standard output can't be written: \(error)")
        }
    }

    private func waitUntilWritable(until interruption: Interruption) async throws {
        let entries = [(descriptor, POLLOUT), (interruption.descriptor, POLLIN)].map { ($0.0, Int32($0.1)) }
        var events = Blocking.poll(entries, isWaiting: false)
        if events == [0, 0] { events = try await Blocking.run { Blocking.poll(entries, isWaiting: true) } }
        // What the reader takes is written first; only waiting for it ends.
        if events[0] == 0 { throw Failure.interrupted }
    }
}
