import ArgumentParser
import Testing

@testable import notifyctl

@Suite struct ProgramArgumentsTests {
    private func parse(_ arguments: String...) throws -> any ParsableCommand { try ProgramArguments.parse(arguments) }

    @Test func `the arguments after two hyphens are the program and its options`() throws {
        let work = try #require(
            try parse("work", "a", "b", "--durable", "w", "--parallel", "3", "--", "sh", "-c", "x", "--", "y")
                as? WorkCommand)
        #expect(work.patterns == ["a", "b"] && work.durable == "w" && work.parallel == 3)
        #expect(work.program == ["sh", "-c", "x", "--", "y"])
        #expect((try parse("work", "a", "--durable", "w") as? WorkCommand)?.program == [])
        let wait = try #require(try parse("wait", "a", "--", "--durable") as? WaitCommand)
        #expect(wait.receiving.durable == nil && wait.program == ["--durable"])
    }

    @Test func `'subscribe' takes a program only with --exec`() throws {
        let subscribe = try #require(try parse("subscribe", "a", "--exec", "--", "b") as? SubscribeCommand)
        #expect(subscribe.patterns == ["a"] && subscribe.program == ["b"])
        let plain = try #require(try parse("subscribe", "a", "--") as? SubscribeCommand)
        #expect(plain.patterns == ["a"] && plain.program.isEmpty)
        #expect(throws: ValidationError.self) { try parse("subscribe", "a", "--", "b") }
    }

    @Test func `a program without --exec is refused with the option to add`() throws {
        let error = #expect(throws: ValidationError.self) { try parse("subscribe", "a", "--", "./clean-up", "-x") }
        #expect(error?.message.hasPrefix("'./clean-up' follows '--': to run it for each message, add --exec") == true)
    }

    @Test func `patterns may follow two hyphens if none precede them`() throws {
        let subscribe = try #require(try parse("subscribe", "--verbose", "--", "-a", "b") as? SubscribeCommand)
        #expect(subscribe.patterns == ["-a", "b"] && subscribe.program.isEmpty)
    }

    @Test func `other commands get the arguments after two hyphens as their own`() throws {
        let post = try #require(try parse("post", "a", "--", "--text") as? PostCommand)
        #expect(post.body == "--text")
    }

    @Test(arguments: [
        ["work", "--durable", "w", "--", "x"], ["work", "a", "--", "x"],
        ["work", "a", "--durable", "w", "--parallel", "0"],
        ["work", "a", "--durable", "w", "--parallel", "1025"],
        ["work", "a", "--durable", "w", "--timeout", "0s", "--", "x"],
        ["subscribe", "a", "--exec", "--durable", "d", "--", "x"], ["wait", "--", "x"],
    ])
    func `invalid or missing arguments before the program are refused`(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try ProgramArguments.parse(arguments) }
    }
}
