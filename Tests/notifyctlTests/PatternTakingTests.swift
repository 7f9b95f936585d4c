import ArgumentParser
import Testing

@testable import notifyctl

@Suite struct PatternTakingTests {
    @Test(arguments: [
        "subscribe web*", "wait web*", "work web* --durable d", "log web*", "monitor web*", "purge web* --yes",
        "durable create d web*", "durable edit d --patterns web*", "policy test subscribe web*",
        "post web* x",
    ])
    func `every command with patterns is checked`(arguments: String) throws {
        let command = try Notifyctl.parseAsRoot(arguments.split(separator: " ").map(String.init))
        #expect((command as? any PatternTaking)?.patterns == ["web*"])
    }

    @Test(arguments: [
        (["post", "web>"], ["web>"]), (["post", "a.b*.c", "x"], ["a.b*.c"]), (["post", "web"], []),
        (["post", "web#1"], []), (["post", "web*", "--quiet"], []),
    ])
    func `the name of a post is checked only if it has a wildcard`(arguments: [String], expected: [String]) throws {
        let command = try Notifyctl.parseAsRoot(arguments)
        #expect((command as? any PatternTaking)?.patterns == expected)
    }
}
