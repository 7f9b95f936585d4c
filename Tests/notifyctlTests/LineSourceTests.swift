import Glibc
import Testing

@testable import notifyctl

@Suite struct LineSourceTests {
    @Test func `the next line is the first known line that was not taken`() async throws {
        let (input, output) = try makePipe()
        defer { close(input) }
        func write(_ text: String) throws { try #require(Glibc.write(output, text, text.utf8.count) > 0) }
        let source = LineSource(input)
        #expect(source.nextLine == nil)
        try write("1\n2\n")
        #expect(source.nextLine == 1, "line 1 was not read")
        #expect(try await source.next(1).map(\.number) == [1])
        #expect(source.nextLine == 2, "line 2 was read and not taken")
        #expect(try await source.next(9).map(\.number) == [2])
        #expect(source.nextLine == nil, "no further line was written yet")
        try write("3\n4")
        #expect(try await source.next(9).map(\.number) == [3])
        #expect(source.nextLine == 4, "the end of line 4 was not read")
        close(output)
        #expect(try await source.next(9).map(\.number) == [4])
        #expect(source.nextLine == nil)
        #expect(try await source.next(9).isEmpty)
        #expect(source.nextLine == nil)
    }

    @Test func `returned lines are taken again before others, and are not the next line`() async throws {
        let (input, output) = try makePipe()
        defer { close(input) }
        try #require(write(output, "1\n2\n3\n", 6) > 0)
        close(output)
        let source = LineSource(input)
        let taken = try await source.next(2)
        source.stop()
        source.resume(with: taken)
        #expect(source.nextLine == 3, "the returned lines are known to be refused")
        #expect(try await source.next(1).map(\.number) == [1])
        source.stop()
        source.resume(with: Array(taken.prefix(1)))
        #expect(try await source.next(1).map(\.number) == [1])
        #expect(source.takeReturned().map(\.number) == [2])
        #expect(try await source.next(9).map(\.number) == [3])
        #expect(source.takeReturned().isEmpty)
    }
}
