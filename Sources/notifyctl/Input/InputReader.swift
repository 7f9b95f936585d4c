import Glibc
import SystemPackage

/// Reads a descriptor on a thread of the blocking pool.
final class InputReader: Sendable {
    private static let chunkBytes = 256 << 10

    private let descriptor: Int32
    private let cancellation = WakeUpPipe()

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Reads the next bytes. The result is empty at the end of the input. Only one task at a time may read.
    ///
    /// - Throws: `CommandFailure` if the descriptor cannot be read; `CancellationError` if the task is cancelled, even
    ///   while it waits for input.
    func next() async throws -> [UInt8] {
        try await withTaskCancellationHandler {
            try await Blocking.run { try self.read() }
        } onCancel: {
            cancellation.wakeUp()
        }
    }

    /// Ends the pending read, and all later reads, with a `CancellationError`.
    func cancel() {
        cancellation.wakeUp()
    }

    /// Reads chunks until the input ends, or until there are more than `limit` bytes.
    func all(limit: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            let chunk = try await next()
            if chunk.isEmpty { break }
            bytes += chunk
        }
        return bytes
    }

    private func read() throws -> [UInt8] {
        if descriptor >= 0 {
            let events = Blocking.poll([(descriptor, POLLIN), (cancellation.descriptor, POLLIN)], isWaiting: true)
            if events[1] != 0 { throw CancellationError() }
        }
        do {
            return try [UInt8](unsafeUninitializedCapacity: Self.chunkBytes) { buffer, count in
                count = try FileDescriptor(rawValue: descriptor).read(into: UnsafeMutableRawBufferPointer(buffer))
            }
        } catch {
            throw CommandFailure(.unreadableInput, "can't read the input: \(error)")
        }
    }
}
