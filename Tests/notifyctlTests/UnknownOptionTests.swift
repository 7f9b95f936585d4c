import ArgumentParser
import Testing

@testable import notifyctl

@Suite struct UnknownOptionTests {
    @Test(arguments: [
        ("durable remove d --yes", "Unknown option '--yes'. Did you mean '--force'?"),
        ("durable list --user root", "Unknown option '--user'"),
        ("log --since 2h", "Unknown option '--since'. Did you mean '--from'?"),
        ("log --until 2h", "Unknown option '--until'. Did you mean '--to'?"),
        ("purge a --yes --until 2h", "Unknown option '--until'. Did you mean '--before'?"),
        ("subscribe a -n 5", "Unknown option '-n'. Did you mean '--count'?"),
        ("log -n 5", "Unknown option '-n'. Did you mean '--limit'?"),
        ("subscribe a --queue", "Unknown option '--queue'. Did you mean '--group'?"),
        ("subscribe a --durible x", "Unknown option '--durible'. Did you mean '--durable'?"),
        ("ping --since 2h", "Unknown option '--since'"),
    ])
    func `an unknown option is refused, with the option that is probably meant`(
        arguments: String, expected: String
    ) throws {
        let words = arguments.split(separator: " ").map(String.init)
        let error = #expect(throws: (any Error).self) { try Notifyctl.parseAsRoot(words) }
        let message = try Notifyctl.message(for: #require(error))
        #expect(UnknownOption.completed(message, help: Notifyctl.help(for: words)) == expected)
    }

    @Test(arguments: [
        ("work x --consumer w -- true", "Unknown option '--consumer'. Did you mean '--durable'?"),
        ("work x --name w -- true", "Unknown option '--name'. Did you mean '--durable'?"),
        ("work --workers 3 x", "Unknown option '--workers'. Did you mean '--parallel'?"),
        ("work --workers=3 x", "Unknown option '--workers'. Did you mean '--parallel'?"),
        ("work -j 3 x", "Unknown option '-j'. Did you mean '--parallel'?"),
        ("durable reset q --from 2h", "Unknown option '--from'. Did you mean '--to'?"),
        ("durable reset q --nonsense", "Unknown option '--nonsense'"),
        ("work x -- true --consumer", "Missing expected argument '--durable <name>'"),
        ("work x --parallel 3", "Missing expected argument '--durable <name>'"),
        ("durable reset q", "Missing expected argument '--to <position>'"),
    ])
    func `an unknown option is reported before a missing one`(arguments: String, expected: String) throws {
        let words = arguments.split(separator: " ").map(String.init)
        let help = Notifyctl.help(for: words)
        let error = #expect(throws: (any Error).self) { try ProgramArguments.parse(words) }
        let message = try UnknownOption.message(
            behind: Notifyctl.message(for: #require(error)), words, help: help)
        #expect(UnknownOption.completed(message, help: help) == expected)
    }
}
