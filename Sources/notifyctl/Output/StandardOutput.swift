import Glibc
import NotifySystem
import SystemPackage

/// Standard output, buffered for large writes. Nothing is written before a flush.
struct StandardOutput: ~Copyable {
    enum Failure: Error {
        /// The reader has closed the pipe.
        case readerClosed
        /// The command was interrupted while waiting for the reader.
        case interrupted
    }

    /// The size at which the buffer counts as full, in bytes.
    static let flushBytes = 256 << 10

    /// The number of bytes that a writable pipe accepts without blocking (`PIPE_BUF`).
    private static let writeBytes = 4096

    private let descriptor: Int32
    private(set) var buffer: [UInt8] = []
    /// The number of bytes of the buffer that the last flush has written, also if the flush failed.
    private(set) var writtenBytes = 0

    private let isTerminal: Bool

    init(descriptor: Int32 = STDOUT_FILENO) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
    }

    /// Throws if standard output was closed at the start or is open only for reading.
    static func checkIsOpen(_ descriptor: Int32 = STDOUT_FILENO) throws(CommandFailure) {
        let mode = fcntl(descriptor, F_GETFL)
        if mode < 0 || StandardDescriptors.wasClosed(descriptor) { throw CommandFailure.unwritable("it is closed") }
        if mode & O_ACCMODE == O_RDONLY { throw CommandFailure.unwritable("it is open only for reading") }
    }

    var isFull: Bool { buffer.count >= Self.flushBytes }

    /// Appends lines of text. On a terminal, characters that could change it are replaced.
    mutating func append(_ text: String) {
        buffer.append(contentsOf: (isTerminal ? Table.printable(text, keeping: ["\n", "\t"]) : text).utf8)
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        buffer.append(contentsOf: bytes)
    }

    /// Lets `body` append to the buffer.
    mutating func gather(_ body: (inout [UInt8]) -> Void) {
        body(&buffer)
    }

    /// Empties the buffer without writing it.
    mutating func discard() {
        buffer.removeAll(keepingCapacity: true)
    }

    /// Writes the whole buffer. Blocks while the reader does not read.
    mutating func flush() throws {
        writtenBytes = 0
        while writtenBytes < buffer.count { try write(atMost: .max) }
        buffer.removeAll(keepingCapacity: true)
    }

    /// Writes the whole buffer, but stops if the command is interrupted while the output is not writable. So a signal
    /// or timeout ends the command even if the reader has stopped reading.
    ///
    /// - Throws: ``Failure`` or `CommandFailure`; ``writtenBytes`` is then the number of bytes written.
    mutating func flush(until interruption: Interruption) async throws {
        writtenBytes = 0
        while writtenBytes < buffer.count {
            try await waitUntilWritable(until: interruption)
            try write(atMost: Self.writeBytes)
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
            throw Failure.readerClosed
        } catch Errno.resourceTemporarilyUnavailable {
            // Another process has made the descriptor non-blocking.
            _ = Blocking.poll([(descriptor, Int32(POLLOUT))], isWaiting: true)
        } catch {
            throw CommandFailure.unwritable(StandardDescriptors.wasClosed(descriptor) ? "it is closed" : "\(error)")
        }
    }

    private func waitUntilWritable(until interruption: Interruption) async throws {
        let entries = [(descriptor, POLLOUT), (interruption.descriptor, POLLIN)].map { ($0.0, Int32($0.1)) }
        var events = Blocking.poll(entries, isWaiting: false)
        if events == [0, 0] { events = try await Blocking.run { Blocking.poll(entries, isWaiting: true) } }
        // While the output is writable, writing continues even after an interruption; only waiting is interrupted.
        if events[0] == 0 { throw Failure.interrupted }
    }
}
