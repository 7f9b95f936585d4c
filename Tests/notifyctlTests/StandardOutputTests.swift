import Glibc
import Testing

@testable import notifyctl

@Suite(.timeLimit(.minutes(25))) struct StandardOutputTests {
    private func withPipe(_ body: (_ read: Int32, _ write: Int32) async throws -> Void) async throws {
        signal(SIGPIPE, SIG_IGN)
        let (read, write) = try makePipe()
        defer {
            close(read)
            close(write)
        }
        try await body(read, write)
    }

    private func readSome(_ descriptor: Int32) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, count in
            count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
        }
    }

    @Test func `gathered output is written in one piece`() async throws {
        try await withPipe { read, write in
            let interruption = Interruption()
            var output = StandardOutput(descriptor: write)
            output.append("one\n")
            output.append("two\n")
            try await output.flush(until: interruption)
            try await output.flush(until: interruption)
            #expect(readSome(read) == Array("one\ntwo\n".utf8))
        }
    }

    @Test func `a closed reader is reported`() async throws {
        try await withPipe { read, write in
            var output = StandardOutput(descriptor: write)
            output.append("x")
            dup2(write, read)
            // Waits until no process has the read end open. A child process that another test starts has a copy of the
            // read end until the child calls exec.
            var entry = pollfd(fd: write, events: 0, revents: 0)
            try #require(poll(&entry, 1, 300_000) == 1)
            #expect(throws: StandardOutput.Failure.readerClosed) { try flush(&output) }
        }
    }

    @Test func `a flush waits for its reader`() async throws {
        try await withPipe { read, write in
            let size = 1 << 20
            let flushed = Task {
                var output = StandardOutput(descriptor: write)
                output.gather { $0 = [UInt8](repeating: 1, count: size) }
                try await output.flush(until: Interruption())
            }
            var count = 0
            while count < size { count += readSome(read).count }
            try await flushed.value
            #expect(count == size)
        }
    }

    @Test(arguments: [true, false])
    func `an interruption ends the wait for the reader and keeps the written count`(isEarly: Bool) async throws {
        try await withPipe { read, write in
            let interruption = Interruption()
            let size = 1 << 20
            let flushing = Task {
                var output = StandardOutput(descriptor: write)
                output.gather { $0 = [UInt8](repeating: 1, count: size) }
                do {
                    try await output.flush(until: interruption)
                } catch StandardOutput.Failure.interrupted {
                    return output.writtenBytes
                }
                return size
            }
            if !isEarly {
                // Once the pipe is full, the flush waits or is about to wait.
                while Blocking.poll([(write, POLLOUT)], isWaiting: false) != [0] { await Task.yield() }
            }
            interruption.interrupt(.signal)
            let written = try await flushing.value
            #expect(written > 0 && written < size)
            #expect(readSome(read).count == written)
        }
    }

    // A separate function, because the closure of `#expect` can't capture a noncopyable value.
    private func flush(_ output: inout StandardOutput) throws {
        try output.flush()
    }
}
