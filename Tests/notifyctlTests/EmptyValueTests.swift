import ArgumentParser
import NotifyUnits
import Testing

@testable import notifyctl

@Suite struct EmptyValueTests {
    private func separated(_ arguments: [String]) -> [String] {
        EmptyValue.separated(arguments, help: Notifyctl.help(for: arguments))
    }

    @Test(arguments: [
        (["post", "a", "--object=", "x"], ["post", "a", "--object", "", "x"]),
        (["post", "a", "-H=", "x"], ["post", "a", "-H", "", "x"]),
        (["--socket=", "post", "a"], ["--socket", "", "post", "a"]),
        (["subscribe", "a", "-c=", "--durable="], ["subscribe", "a", "-c", "", "--durable", ""]),
        (
            ["work", "a", "--object=", "--durable", "w", "--", "x", "--object="],
            ["work", "a", "--object", "", "--durable", "w", "--", "x", "--object="]
        ),
        (["dead", "list", "--user=", "d"], ["dead", "list", "--user", "", "d"]),
    ])
    func `an option with an empty value becomes two arguments`(arguments: [String], expected: [String]) {
        #expect(separated(arguments) == expected)
    }

    @Test(arguments: [
        ["post", "a", "--object=b", "x="], ["post", "a", "--object", "", "x"], ["post", "a", "--quiet="],
        ["post", "a", "--unknown=", "x"], ["post", "a", "--", "--object="], ["post", "a", "--object=b="],
        ["post", "="],
    ])
    func `other arguments are unchanged`(arguments: [String]) {
        #expect(separated(arguments) == arguments)
    }

    @Test func `an empty object does not take the next argument as its value`() throws {
        let post = try #require(
            try ProgramArguments.parse(separated(["post", "a", "--object=", "hello"])) as? PostCommand)
        #expect(post.object == "" && post.body == "hello")
        let subscribe = try #require(
            try ProgramArguments.parse(separated(["subscribe", "--object=", "a"])) as? SubscribeCommand)
        #expect(subscribe.receiving.subscription.object == "" && subscribe.patterns == ["a"])
    }

    @Test(arguments: [
        (["log", "--from=", "oldest"], "--from"), (["log", "--limit=", "3"], "--limit"),
        (["purge", "--before=", "2h", "--yes", "a"], "--before"), (["post", "a", "--file=", "f"], "--file"),
        (["subscribe", "-t=", "5", "a"], "-t"), (["dead", "list", "--id=", "5"], "--id"),
        (["post", "a", "--durability=", "stored"], "--durability"),
    ])
    func `an empty value is refused if the option does not accept it`(arguments: [String], option: String) throws {
        let error = #expect(throws: (any Error).self) { try ProgramArguments.parse(separated(arguments)) }
        #expect(try Notifyctl.exitCode(for: #require(error)).rawValue == 64)
        #expect(try Notifyctl.message(for: #require(error)).contains(option))
    }
}
