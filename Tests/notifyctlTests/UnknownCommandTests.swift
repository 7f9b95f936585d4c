import Testing

@testable import notifyctl

@Suite struct UnknownCommandTests {
    private func message(_ arguments: String) -> String? {
        do {
            try UnknownCommand.check(arguments.split(separator: " ").map(String.init))
            return nil
        } catch {
            #expect(error.status == .usage)
            return error.message
        }
    }

    @Test(arguments: [
        ("pots orders", "unknown command 'pots'; did you mean 'post'? (see 'notifyctl --help')"),
        ("help subscrbe", "unknown command 'subscrbe'; did you mean 'subscribe'? (see 'notifyctl --help')"),
        ("--socket /s psot", "unknown command 'psot'; did you mean 'post'? (see 'notifyctl --help')"),
        ("durable lst", "unknown command 'lst'; did you mean 'list'? (see 'notifyctl durable --help')"),
        ("help durable remov", "unknown command 'remov'; did you mean 'remove'? (see 'notifyctl durable --help')"),
        ("dead rety", "unknown command 'rety'; did you mean 'retry'? (see 'notifyctl dead --help')"),
        ("durable new d a", "unknown command 'new'; did you mean 'create'? (see 'notifyctl durable --help')"),
        ("dead rm a", "unknown command 'rm'; did you mean 'purge'? (see 'notifyctl dead --help')"),
        ("nope", "unknown command 'nope' (see 'notifyctl --help')"),
        ("pub a b", "unknown command 'pub'; did you mean 'post'? (see 'notifyctl --help')"),
        ("publish a b", "unknown command 'publish'; did you mean 'post'? (see 'notifyctl --help')"),
        ("sub a", "unknown command 'sub'; did you mean 'subscribe'? (see 'notifyctl --help')"),
        ("read a", "unknown command 'read'; did you mean 'log'? (see 'notifyctl --help')"),
        ("presence a", "unknown command 'presence'; did you mean 'announce'? (see 'notifyctl --help')"),
        ("lwt a", "unknown command 'lwt'; did you mean 'announce'? (see 'notifyctl --help')"),
        ("will a", "unknown command 'will'; did you mean 'announce'? (see 'notifyctl --help')"),
        ("durable rm a", "unknown command 'rm'; did you mean 'remove'? (see 'notifyctl durable --help')"),
        ("bogus", "unknown command 'bogus' (see 'notifyctl --help')"),
    ])
    func `an unknown command is refused, with the one that is probably meant`(arguments: String, expected: String) {
        #expect(message(arguments) == expected)
    }

    @Test(arguments: [
        "", "post a b", "--socket /s post pots", "--socket=/s ping", "help", "help post", "--help", "durable",
        "durable list", "durable --help", "--generate-completion-script bash", "---completion post -- a",
        "bench post x",
    ])
    func `known commands and options are left to the parser`(arguments: String) {
        #expect(message(arguments) == nil)
    }

    @Test func `exchanged characters count as one error`() {
        #expect(UnknownCommand.distance("post", "post") == 0)
        #expect(UnknownCommand.distance("psot", "post") == 1)
        #expect(UnknownCommand.distance("", "post") == 4)
        #expect(UnknownCommand.distance("poost", "post") == 1)
        #expect(UnknownCommand.distance("top", "stop") == 1)
    }
}
