import Glibc
import Testing

@testable import notifyctl

@Suite(.timeLimit(.minutes(10))) struct StandardOutputTests {
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

    @Test func `what was gathered comes out in one piece`() async throws {
        try await withPipe { read, write in
            var output = StandardOutput(descriptor: write, interruption: Signal().descriptor)
            output.append("one\n")
            output.append("two\n")
            try output.flush()
            try output.flush()
            #expect(readSome(read) == Array("one\ntwo\n".utf8))
        }
    }

    @Test func `a reader that is gone is told`() async throws {
        try await withPipe { read, write in
            var output = StandardOutput(descriptor: write)
            output.append("x")
            dup2(write, read)
            // A program that another test just starts has a copy of the end to read from until its exec.
            var entry = pollfd(fd: write, events: 0, revents: 0)
            try #require(poll(&entry, 1, 300_000) == 1)
            #expect(throws: StandardOutput.Failure.readerGone) { try flush(&output) }
        }
    }

    @Test func `an interruption ends the wait for the reader, and says how much was written`() async throws {
        try await withPipe { read, write in
            let interruption = Signal()
            var output = StandardOutput(descriptor: write, interruption: interruption.descriptor)
            let size = 1 << 20
            output.gather { $0 = [UInt8](repeating: 1, count: size) }
            interruption.raise()
            #expect(throws: StandardOutput.Failure.interrupted) { try flush(&output) }
            let written = output.writtenBytes
            #expect(written > 0 && written < size)
            #expect(readSome(read).count == written)
        }
    }

    // The macro's closure can't take a value that is not copyable.
    private func flush(_ output: inout StandardOutput) throws {
        try output.flush()
    }
}
