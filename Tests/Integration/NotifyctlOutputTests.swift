import Foundation
import NotifyWire
import TestSupport
import Testing

extension IntegrationTests {
    /// The end of commands whose output can't be written.
    @Suite struct NotifyctlOutputTests {
        private static let commands = [
            "--help", "help post", "--version", "--generate-completion-script bash", "", "durable",
            "post a.b x", "post a.b x --json", "post a.b --lines </etc/passwd",
            "post a.c x --ephemeral", "announce a.c x",
            "subscribe a --from oldest", "wait a --durable mine",
            "log", "log --json", "log --follow", "log --reverse", "log --summary", "log --summary --json",
            "get v", "get v --json", "get 'v.*' v", "clear none",
            "purge none --yes", "durable list", "durable list --watch --interval 100ms", "durable remove mine",
            "durable create new a", "durable create mine a", "durable show mine",
            "durable reset mine --to now",
            "durable edit mine --patterns a", "durable set mine --deadline 1s", "dead list", "dead list --watch",
            "dead purge --yes",
            "dead retry", "ping", "stats", "stats --json", "stats --limits", "policy test post a", "reload", "check",
            "check --full",
            "check --json", "backup -", "backup \"$(mktemp -d)/backup\"", "doctor", "clients", "clients --json --watch",
            "subscriptions", "subscriptions --watch",
            "names --interval 100ms", "names --watch --interval 100ms", "trace 1", "bench post --messages 1",
            "bench subscribe --messages 1",
            "bench roundtrip --messages 1", "bench durable --messages 1 --durability stored", "top",
            "top --plain --interval 100ms", "top --count 2 --interval 100ms",
        ]

        private let daemon: Daemon
        private let notifyctl: Notifyctl

        init() async throws {
            daemon = try await Daemon.start()
            notifyctl = Notifyctl(daemon)
            let client = try RawClient(daemon)
            try client.subscribe("a", durable: "mine")
            for _ in 0..<3 { try client.post("a", "x", durability: .stored) }
            try client.detach()
            _ = try await notifyctl.run("post", "v", "x", "--retain", "--quiet")
        }

        @Test(arguments: commands)
        func `on a full disk, each command ends with status 1 and an error message`(command: String) async throws {
            let result = try await notifyctl.shell("notifyctl \(command) >/dev/full")
            #expect(result.status == .status(1))
            let line = "notifyctl: can't write to standard output: No space left on device"
            #expect(result.errors.split(separator: "\n").last.map(String.init) == line, "\(result.errors)")
        }

        @Test(
            arguments: commands + [
                "monitor", "subscribe a", "subscribe a --durable other", "work a --durable mine -- cat",
            ])
        func `on a closed pipe, each command ends with status 1 and an error message`(command: String) async throws {
            let result = try await notifyctl.shellWithoutReader("notifyctl \(command)")
            #expect(result.output == "1\n")
            let line = "notifyctl: can't write to standard output: its reader has closed it"
            #expect(result.errors.split(separator: "\n").last.map(String.init) == line, "\(result.errors)")
        }

        @Test func `a full disk ends commands that print dead letters or posts`() async throws {
            let failed = try await notifyctl.shell(
                """
                notifyctl durable create jobs job --group --max-deliveries 1 && notifyctl post job x --quiet
                notifyctl wait job --durable jobs --group -- false; [ $? = 1 ]
                """)
            #expect(failed.status == .status(0), "\(failed.errors)")
            let line = "notifyctl: can't write to standard output: No space left on device"
            for command in ["dead show", "dead show --json", "dead list --json", "monitor", "monitor --json"] {
                // A monitor prints posts that are made while it runs.
                let result = try await notifyctl.shell(
                    """
                    notifyctl \(command) >/dev/full & pid=$!
                    while kill -0 $pid 2>/dev/null; do notifyctl post b y --quiet; done
                    wait $pid
                    """, within: .seconds(60))
                #expect(result.status == .status(1), "\(command)")
                #expect(result.errors == line + "\n", "\(command)")
            }
        }

        @Test func `a full disk ends 'notifyctl request', which prints the reply`() async throws {
            let result = try await notifyctl.shell(
                """
                name="user.$(id -u).x"
                notifyctl serve "$name" -- echo reply & pid=$!
                until notifyctl stats | grep -q '^servers 1$'; do kill -0 $pid || exit 9; done
                notifyctl request "$name" >/dev/full; status=$?
                kill $pid; wait $pid
                exit $status
                """, within: .seconds(60))
            #expect(result.status == .status(1))
            #expect(result.errors == "notifyctl: can't write to standard output: No space left on device\n")
        }

        @Test func `the tests of unwritable output cover every command`() async throws {
            let dump = try await notifyctl.run("--experimental-dump-help").output
            let root = try #require(try JSONSerialization.jsonObject(with: Data(dump.utf8)) as? [String: Any])
            func leaves(_ command: [String: Any], _ path: [String]) -> [String] {
                let inner = (command["subcommands"] as? [[String: Any]] ?? []).filter {
                    $0["commandName"] as? String != "help"
                }
                if inner.isEmpty { return [path.joined(separator: " ")] }
                return inner.flatMap { leaves($0, path + [$0["commandName"] as? String ?? ""]) }
            }
            let names = leaves(try #require(root["command"] as? [String: Any]), [])
            #expect(names.count > 30)
            // 'serve' prints nothing.
            let tested = Self.commands + ["dead show", "monitor", "work", "request", "serve"]
            for name in names { #expect(tested.contains { $0 == name || $0.hasPrefix(name + " ") }, "\(name)") }
        }

        @Test func `a full disk ends 'notifyctl work --prefix', which prints its commands' output`() async throws {
            let result = try await notifyctl.shell(
                "notifyctl work a --durable mine --from oldest --prefix -- cat >/dev/full", within: .seconds(60))
            #expect(result.status == .status(1))
            let line = "notifyctl: can't write to standard output: No space left on device"
            #expect(result.errors.split(separator: "\n").last.map(String.init) == line, "\(result.errors)")
        }

        @Test func `a reader that ends after the whole output is not a failure`() async throws {
            for command in ["log --limit 1", "subscribe a --from oldest --count 1", "wait a --durable mine"] {
                let result = try await notifyctl.shell("{ notifyctl \(command); echo $? >&2; } | head -n 1")
                #expect(result.output == "x\n" || result.output.hasSuffix(" a x\n"), "\(command)")
                #expect(result.errors == "0\n", "\(command)")
            }
        }
    }
}
