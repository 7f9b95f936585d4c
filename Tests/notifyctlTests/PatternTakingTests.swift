import ArgumentParser
import Testing

@testable import notifyctl

@Suite struct PatternTakingTests {
    @Test(arguments: [
        "subscribe web*", "wait web*", "work web* --durable d", "log web*", "monitor web*", "purge web* --yes",
        "durable create d web*", "durable edit d --patterns web*", "policy test subscribe web*",
    ])
    func `every command with patterns is checked`(arguments: String) throws {
        let command = try Notifyctl.parseAsRoot(arguments.split(separator: " ").map(String.init))
        #expect((command as? any PatternTaking)?.patterns == ["web*"])
    }
}
