import ArgumentParser
import Testing

@testable import notifyctl

@Suite struct ArgumentTests {
    private func status(_ arguments: String) -> Int32? {
        do {
            _ = try Notifyctl.parseAsRoot(arguments.split(separator: " ").map(String.init))
            return nil
        } catch {
            return Notifyctl.exitCode(for: error).rawValue
        }
    }

    @Test(arguments: [
        "post", "post a b -l", "post a - -l", "post a b -f f", "post a -H nocolon", "post a -H :v",
        "post a --durability x",
        "post a b c", "post a --ephemeral --lines", "announce", "announce a b c", "announce a -",
        "announce user.root.x",
        "announce a --grace x", "announce a --grace -1", "announce a -H nocolon", "announce a --json", "subscribe",
        "subscribe a --from all", "subscribe a --from 0", "log a --reverse --follow",
        "log --follow --to 2020-01-01", "log --follow --to now", "log --from now --to 9 --follow",
        "log --from 3000-01-01", "log --to 3000-01-01", "log --summary --from 3000-01-01",
        "subscribe a --from 3000-01-01", "durable create d a --from 3000-01-01",
        "durable reset d --to 3000-01-01", "purge a --yes --before 3000-01-01",
        "log --from 5000 --to 4000", "log --from 2h --to 3h", "log --from now --to 2020-11-22",
        "log --from 9 --to oldest",
        "log --summary --from 2 --to 1", "log --from 2020-11-22 --to 2020-11-21", "log --limit -3", "log -l -3",
        "log --from -5", "log --to -5", "purge a --yes --before -5", "durable reset d --to -5",
        "durable create d a --from -5", "subscribe a --from -5", "subscribe a --count -5", "top --interval -1",
        "log a --summary --follow", "log a --summary --reverse", "log a --summary --object o", "log a --summary --raw",
        "subscribe a --durable d --from all", "subscribe a -c 0",
        "subscribe a -c x", "subscribe a -t -1", "durable remove", "durable create d",
        "durable create d a --from all", "durable create d a --from 2026-02-30", "subscribe a --durable d --from 0",
        "wait", "wait a --group", "wait a --timeout 1001d", "dead list --id 0", "dead retry --id x", "dead show --id",
        "dead purge d e --yes",
        "dead list --user no-such-user",
        "durable remove d --user no-such-user", "durable remove d --user 4294967295", "subscribe a -v --json",
        "subscribe a --json --format {name}",
        "subscribe a --raw -0", "subscribe a --format {nam}", "subscribe a --format {name", "post user.root.x",
        "subscribe user.root.>", "durable create d user.no-such-user.x", "post a -H :v", "ping x", "unknown",
        "stats --unknown", "bench post -m 0", "bench post --clients 0", "bench post --clients 2 -m 1",
        "bench post -s 15", "stats --format xml",
        "stats --json --format text",
        "bench post --in-flight 0", "bench post --name user.root.x", "bench subscribe --subscribers 0",
        "bench durable --durability volatile", "bench roundtrip --pairs 0", "bench post x",
        "clients x", "clients --unknown", "subscriptions x", "subscriptions --unknown",
        "names x", "names --interval 0", "clients --interval 5s", "clients --watch --interval 50ms",
        "durable list --interval 5", "log --wide", "dead list --watch --interval 2d", "names --interval 9001ms",
        "monitor --count 0",
        "monitor user.root.x", "trace",
        "trace x", "trace 1 2",
        "top x", "top --interval 0", "top --interval 99ms", "top --interval 86401s",
        "top --count 0", "top --count x", "top --view unknown", "top --sort unknown",
        "top --view clients --sort BEHIND", "top --view names --interval 9001ms",
    ])
    func `the exit status for invalid arguments is 64`(arguments: String) {
        #expect(status(arguments) == 64)
    }

    @Test(arguments: [
        "post a", "post a b", "post a -", "post a -f f", "post a -l -f f", "post a -l -q", "post a b --json --object o",
        "post a b --ephemeral -q", "post a -f f --ephemeral -H k:v --object o", "announce a", "announce a b --takeover",
        "announce a b --will c --grace 5s -H k:v --object o",
        "post a -H k:v --header l:w:x -H k2: --durability synced", "subscribe a", "subscribe a.* b.> -v -c 1 -t 500ms",
        "subscribe a -t 0", "subscribe a -t 5", "names --interval 5", "top --interval 1",
        "subscribe a --durable d --from oldest", "subscribe a --durable d --from now", "subscribe a --raw",
        "subscribe a -0 --json",
        "subscribe a --format {name}:{header:k} --null", "durable create d a b.> --object o --from oldest",
        "durable create d a --from 12", "durable create d a --from 2h", "durable create d a --from yesterday",
        "log", "log --from 4000 --to 4000", "log --from 3h --to 2h", "log --from 2h --to now", "log --from 9 --to 2h",
        "log --from 2020-11-22 --to 2020-11-23", "log --from oldest --to oldest",
        "log --from now --follow", "log --from now --to 9",
        "log --limit=3 --from=2h", "log -l 3 -f", "purge a --yes --before 2h", "durable reset d --to 5",
        "subscribe a --durable d --from 2020-11-22T12:00:00Z", "subscribe a --durable d --from 00:00",
        "durable remove d --user root", "durable remove d --user 12", "post user.0.x", "subscribe user.*.x user.>",
        "durable list --json", "durable remove d", "dead list", "dead list d --json --watch",
        "wait a b.>", "wait a --durable d --group --timeout 0",
        "dead show d --id 1 2 --json",
        "dead retry --user 12", "dead retry --id 1 --id 2", "dead purge d --yes", "dead purge --id 3",
        "ping",
        "stats --json", "stats --format openmetrics --limits", "stats --json --format json",
        "clients", "clients --json --watch", "clients --watch --interval 5 --wide", "durable list --wide",
        "dead list --utc --watch --interval 1m", "log --summary --wide --utc", "trace 1 --wide --utc", "monitor --utc",
        "top --wide", "subscriptions", "subscriptions --json --watch",
        "names", "names --interval 9s --watch --json", "monitor", "monitor a.> b user.*.c --json -c 3",
        "trace 12", "trace 12 --json",
        "top", "top --interval 100ms", "top --interval 1d", "top --plain --count 1", "top -c 2 --filter x",
        "top --view subscriptions --sort behind", "top --sort DROPPED/S",
        "top --view names --interval 9s --sort name",
    ])
    func `valid arguments are accepted`(arguments: String) {
        #expect(status(arguments) == nil)
    }

    @Test(arguments: ["--socket /s ping", "ping --socket /s"])
    func `the socket option may precede or follow the command`(arguments: String) throws {
        let command = try Notifyctl.parseAsRoot(arguments.split(separator: " ").map(String.init))
        #expect((command as? PingCommand)?.connection.socket == "/s")
    }

    @Test(arguments: [
        ("post a --durability x", "--durability <durability>", "expected automatic, volatile, stored or synced"),
        ("durable remove d --user x", "--user <user>", "this machine has no user of this name"),
        ("post a -H x", "-H <key:value>", "expected a header of the form 'KEY: VALUE'"),
    ])
    func `an error names the option, the value and the expected form once`(
        arguments: String, option: String, expected: String
    ) throws {
        let error = #expect(throws: (any Error).self) {
            try Notifyctl.parseAsRoot(arguments.split(separator: " ").map(String.init))
        }
        #expect(try Notifyctl.message(for: #require(error)) == "The value 'x' is invalid for '\(option)': \(expected)")
    }

    @Test(arguments: [
        ("log --limit -3", "--limit must be at least 1"), ("subscribe a -c -3", "--count must be at least 1"),
        ("log --from 5000 --to 4000", "--from is after --to"),
        ("log --from -5", "The value '-5' is invalid for '--from <start>': expected \(PositionArgument.forms)"),
        ("log --to -5", "The value '-5' is invalid for '--to <end>': expected \(PositionArgument.forms)"),
        (
            "subscribe a --timeout 5y",
            "The value '5y' is invalid for '--timeout <span>': expected seconds, or numbers with the units ms, s, m, h, "
                + "d or w such as 90s, 1h30m or 1.5h"
        ),
        (
            "log --from 3000-01-01",
            "The value '3000-01-01' is invalid for '--from <start>': the time is in the future; give a time that "
                + "has passed, or 'now' for the end of the log"
        ),
        ("log --limit", "Missing value for '--limit <number>'"),
        ("log --from 2026-13-45", "The value '2026-13-45' is invalid for '--from <start>': there is no such day"),
        (
            "subscribe a --timeout 400000d",
            "The value '400000d' is invalid for '--timeout <span>': expected at most 1000d"
        ),
        (
            "log --limit 99999999999999999999",
            "The value '99999999999999999999' is invalid for '--limit <number>': the number is too high"
        ),
        ("durable set d --max-deliveries -1", "--max-deliveries must be at least 0; 0 is no limit"),
        ("durable set d --in-flight -1", "--in-flight must be at least 0; 0 is no limit"),
        ("durable set d --deadline 1ms", "--deadline must be 0 for no limit, or 100ms to 30d"),
        ("durable set d --deadline 31d", "--deadline must be 0 for no limit, or 100ms to 30d"),
    ])
    func `an error about a number or a position names the problem`(arguments: String, expected: String) throws {
        let error = #expect(throws: (any Error).self) {
            try Notifyctl.parseAsRoot(arguments.split(separator: " ").map(String.init))
        }
        #expect(try Notifyctl.message(for: #require(error)) == expected)
    }

    @Test(arguments: [
        "subscribe a --count", "log --limit", "monitor --count", "top --count", "work a --durable d --parallel",
        "durable set d --max-deliveries", "durable set d --in-flight", "bench post --messages", "bench post --clients",
        "bench post --in-flight", "bench subscribe --subscribers", "bench durable --subscribers",
        "bench roundtrip --pairs",
    ])
    func `a number with a superfluous 0 is refused`(arguments: String) throws {
        let words = arguments.split(separator: " ").map(String.init)
        let command = words[0] == "work" ? ["--", "true"] : []
        #expect(throws: Never.self) { try Notifyctl.parseAsRoot(words + ["10"] + command) }
        let error = #expect(throws: (any Error).self) { try Notifyctl.parseAsRoot(words + ["010"] + command) }
        let message = try Notifyctl.message(for: #require(error))
        #expect(message.hasPrefix("The value '010' is invalid for '"))
        #expect(message.hasSuffix("': expected a whole number, such as 10"))
    }

    @Test(arguments: ["trace", "dead list --id", "dead retry d --id"], ["0", "010", "x", "18446744073709551615"])
    func `a text that is not a sequence is refused`(arguments: String, text: String) throws {
        let words = arguments.split(separator: " ").map(String.init)
        #expect(throws: Never.self) { try Notifyctl.parseAsRoot(words + ["10"]) }
        let error = #expect(throws: (any Error).self) { try Notifyctl.parseAsRoot(words + [text]) }
        let message = try Notifyctl.message(for: #require(error))
        let thing = arguments == "trace" ? "message" : "dead letter"
        #expect(message.contains("expected the sequence of a \(thing), such as 4711"))
    }

    @Test func `examples in the help have at most 80 columns`() {
        var commands: [any ParsableCommand.Type] = [Notifyctl.self]
        var examples = 0
        while let command = commands.popLast() {
            commands += command.configuration.subcommands
            let lines = command.configuration.discussion.split(separator: "\n")
            for line in lines where line.hasPrefix("  ") {
                examples += 1
                #expect(line.count <= 80, "\(line)")
            }
        }
        #expect(examples > 50)
    }

    @Test func `a message about a number names the expected form`() {
        let incomplete = "The value 'x' is invalid for '--count <count>'"
        #expect(Notifyctl.completed(incomplete) == incomplete + ": expected a number")
        for message in [
            incomplete + ": expected it", incomplete + ": not after 'now'", "Missing value for '--limit <number>'",
        ] {
            #expect(Notifyctl.completed(message) == message)
        }
    }

    @Test func `a header argument is split at its first colon, and both parts are trimmed`() throws {
        let headers: [(String, String, String)] = [
            (" K : V w ", "K", "V w"), ("K: V", "K", "V"), ("K:\t", "K", ""), ("k:v:w", "k", "v:w"), ("k:", "k", ""),
        ]
        for (argument, key, value) in headers {
            let header = try Header(argument: argument)
            #expect(header.key == key)
            #expect(header.value == value)
        }
        for argument in ["k", ":v", " : v", ":", ""] {
            #expect(throws: ValidationError.self) { try Header(argument: argument) }
        }
    }
}
