import Glibc
import Testing

@testable import notifyctl

@Suite(.timeLimit(.minutes(1))) struct InputReaderTests {
    @Test func `input comes as it arrives, to its end`() async throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let reader = InputReader(descriptor: ends[0])
        write(ends[1], "ab", 2)
        #expect(try await reader.next() == Array("ab".utf8))
        async let next = reader.next()
        write(ends[1], "c", 1)
        #expect(try await next == Array("c".utf8))
        close(ends[1])
        #expect(try await reader.next().isEmpty)
    }

    @Test(arguments: [0, 4, 5, 6])
    func `no more is read than can be used`(limit: Int) async throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        write(ends[1], "12345", 5)
        close(ends[1])
        #expect(try await InputReader(descriptor: ends[0]).all(limit: limit).count == 5)
    }

    @Test func `input that can't be read says so`() async throws {
        let reader = InputReader(descriptor: -1)
        let failure = await #expect(throws: CommandFailure.self) { try await reader.next() }
        #expect(failure?.message?.contains("can't be read") == true)
    }
}
