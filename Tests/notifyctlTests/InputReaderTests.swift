import Glibc
import Testing

@testable import notifyctl

@Suite(.timeLimit(.minutes(25))) struct InputReaderTests {
    @Test func `input is returned as it arrives, up to its end`() async throws {
        let (input, output) = try makePipe()
        defer { close(input) }
        let reader = InputReader(descriptor: input)
        write(output, "ab", 2)
        #expect(try await reader.next() == Array("ab".utf8))
        async let next = reader.next()
        write(output, "c", 1)
        #expect(try await next == Array("c".utf8))
        close(output)
        #expect(try await reader.next().isEmpty)
    }

    @Test(arguments: [0, 4, 5, 6])
    func `reading ends with the chunk that exceeds the limit, and returns all of that chunk`(limit: Int) async throws {
        let (input, output) = try makePipe()
        defer { close(input) }
        write(output, "12345", 5)
        close(output)
        #expect(try await InputReader(descriptor: input).all(limit: limit).count == 5)
    }

    @Test func `a cancelled task does not wait for input`() async throws {
        let (input, output) = try makePipe()
        defer {
            close(input)
            close(output)
        }
        let reader = InputReader(descriptor: input)
        let reading = Task { try await reader.next() }
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
    }

    @Test func `input that can't be read is an error`() async throws {
        let reader = InputReader(descriptor: -1)
        let failure = await #expect(throws: CommandFailure.self) { try await reader.next() }
        #expect(failure?.message?.contains("can't read") == true)
    }
}
