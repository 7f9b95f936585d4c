import Glibc
import Synchronization

/// Reads a descriptor without holding up anything else: a thread of its own waits for what comes.
final class InputReader: Sendable {
    private static let chunkBytes = 256 << 10

    private enum State {
        case idle
        case asked(CheckedContinuation<Result<[UInt8], CommandFailure>, Never>)
    }

    private let descriptor: Int32
    private let state = Mutex(State.idle)
    private let asked = Signal()

    init(descriptor: Int32) {
        self.descriptor = descriptor
        BackgroundThread.start { self.serve() }
    }

    /// The next bytes; empty at the end. One task may ask at a time.
    func next() async throws -> [UInt8] {
        let result = await withCheckedContinuation { continuation in
            state.withLock { $0 = .asked(continuation) }
            asked.raise()
        }
        return try result.get()
    }

    /// All bytes, up to one more than `limit`.
    func all(limit: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            let chunk = try await next()
            if chunk.isEmpty { break }
            bytes += chunk
        }
        return bytes
    }

    private func serve() {
        while true {
            asked.wait()
            let result = read()
            let continuation = state.withLock { state -> CheckedContinuation<Result<[UInt8], CommandFailure>, Never>? in
                defer { state = .idle }
                if case .asked(let continuation) = state { return continuation }
                return nil
            }
            continuation?.resume(returning: result)
            if (try? result.get().isEmpty) ?? true { return }
        }
    }

    private func read() -> Result<[UInt8], CommandFailure> {
        var count = 0
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.chunkBytes) { buffer, filled in
            repeat {
                count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                code = errno
            } while count < 0 && code == EINTR
            filled = max(0, count)
        }
        guard count >= 0 else {
            return .failure(CommandFailure(.failure, "the input can't be read: \(String(cString: strerror(code)))"))
        }
        return .success(bytes)
    }
}
