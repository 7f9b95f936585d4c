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
    func `an option of another program is refused with the one that was meant`(
        arguments: String, expected: String
    ) throws {
        let words = arguments.split(separator: " ").map(String.init)
        let error = #expect(throws: (any Error).self) { try Notifyctl.parseAsRoot(words) }
        let message = try Notifyctl.message(for: #require(error))
        #expect(UnknownOption.completed(message, help: Notifyctl.help(for: words)) == expected)
    }
}
