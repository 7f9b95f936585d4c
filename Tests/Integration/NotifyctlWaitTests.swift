import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// `notifyctl wait`, and `notifyctl subscribe --exec`.
    @Suite struct NotifyctlWaitTests: WorkSuite {
        let setUp: CommandSetUp

        init() async throws { setUp = try await CommandSetUp() }

        private func create(_ options: String...) async throws {
            let process = try notifyctl.start(["durable", "create", "d", "jobs.>"] + options)
            #expect(try await process.waitForExit() == .status(0))
        }

        private func take(_ script: String) async throws -> (status: ChildProcess.Exit, lines: [Substring]) {
            let result = try await notifyctl.run(
                "wait", "jobs.>", "--durable", "d", "--timeout", "60s", "--", "sh", "-c", script)
            return (result.status, result.lines)
        }

        @Test func `'wait' prints a message, and exits with 124 if none arrives in time`() async throws {
            let process = try notifyctl.start(["wait", "jobs.>"])
            try daemon.waitForSubscriptions(1)
            try post(["one", "two"])
            #expect(try await process.waitForExit() == .status(0))
            #expect(try await process.waitForLines(1) == ["one"])
            let late = try await notifyctl.run("wait", "jobs.>", "--timeout", "50ms")
            #expect(late.status == .status(124))
            #expect(late.errors == "notifyctl: timed out after 0.05 s\n")
        }

        @Test(arguments: [[], ["--group"]])
        func `with --durable, no message is lost between two waits`(_ options: [String]) async throws {
            let arguments = ["wait", "jobs.>", "--durable", "d", "--timeout", "0"] + options
            let first = try notifyctl.start(arguments)
            #expect(try await first.waitForExit() == .status(124))
            let expected = (0..<100).map { "\($0)" }
            try post(expected)
            var taken: [String] = []
            for _ in expected {
                let process = try notifyctl.start(arguments)
                guard try await process.waitForExit() == .status(0) else { break }
                taken += try await process.waitForLines(1).map(String.init)
            }
            #expect(taken == expected)
            let last = try notifyctl.start(arguments)
            #expect(try await last.waitForExit() == .status(124))
        }

        @Test func `with --from, 'wait' takes a stored message`() async throws {
            let client = try RawClient(daemon)
            let sequences = try ["one", "two", "three"].map { text in
                try client.post("jobs.a", text, durability: .stored).sequence
            }
            let stored = try await notifyctl.run("wait", "jobs.>", "--from", "\(sequences[1])", "--timeout", "60")
            #expect(stored.status == .status(0) && stored.output == "two\n")
            let pending = try await notifyctl.run("wait", "jobs.>", "--from", "oldest", "--timeout", "0")
            #expect(pending.status == .status(0) && pending.output == "one\n")
            let durable = try await notifyctl.run(
                "wait", "jobs.>", "--durable", "d", "--from", "\(sequences[2])", "--timeout", "60")
            #expect(durable.status == .status(0) && durable.output == "three\n")
            let none = try await notifyctl.run("wait", "jobs.>", "--durable", "d", "--timeout", "0")
            #expect(none.status == .status(124))
        }

        @Test func `a pattern with a literal wildcard is reported`() async throws {
            let result = try await notifyctl.run("wait", "jobs.web*", "--timeout", "0")
            #expect(result.status == .status(124))
            expectText(result.errors, "notifyctl: 'web*' in 'jobs.web*' is no wildcard and matches only itself: ")
        }

        @Test func `an exclusive client takes a group over only with --takeover`() async throws {
            func wait(_ sharing: String) async throws -> Notifyctl.Result {
                try await notifyctl.run("wait", "jobs.>", "--durable", "d", "--timeout", "0", sharing)
            }
            #expect(try await wait("--group").status == .status(124))
            let refused = try await notifyctl.run("wait", "jobs.>", "--durable", "d", "--timeout", "0")
            #expect(refused.status == .status(1))
            #expect(refused.errors.contains("--takeover"))
            #expect(try await wait("--takeover").status == .status(124))
        }

        @Test func `the exit status of the command decides the answer`() async throws {
            try await create("--retry-after", "10ms", "--max-deliveries", "2")
            try post(["one"])
            let script = "echo $NOTIFY_DELIVERY; exit "
            for (status, delivery) in [(75, "1"), (3, "1"), (75, "2")] {
                let taken = try await take(script + "\(status)")
                #expect(taken.status == .status(1))
                #expect(taken.lines == [Substring(delivery)])
            }
            let taken = try await take("echo no such city >&2; exit 65")
            #expect(taken.status == .status(1))
            let letters = try await notifyctl.run("dead", "list", "--json").objects
            #expect(letters.first?["reason"] as? String == "exit status 65\nno such city")
            try post(["two"])
            #expect(try await take("cat; echo; exit 0").lines == ["two"])
        }

        @Test func `a signal ends the command, and the message is kept`() async throws {
            try await create()
            let process = try notifyctl.start(
                ["wait", "jobs.>", "--durable", "d", "--", "sh", "-c", "echo started; exec sleep 1000"])
            try post(["one"])
            #expect(try await process.waitForLines(1) == ["started"])
            process.send(SIGTERM)
            #expect(try await process.waitForExit() == .status(1))
            #expect(try await take("echo $(cat) $NOTIFY_DELIVERY").lines == ["one 1"])
        }

        @Test func `a signal before the message arrives is a failure`() async throws {
            let process = try notifyctl.start(["wait", "jobs.>"])
            try daemon.waitForSubscriptions(1)
            process.send(SIGTERM)
            #expect(try await process.waitForExit() == .status(1))
        }

        @Test func `a signal before the message is written completely is a failure`() async throws {
            let process = try ChildProcess(
                "/bin/sh",
                [
                    "-c",
                    """
                    folder=$(mktemp -d); trap 'rm -r "$folder"' EXIT
                    mkfifo "$folder/out"
                    exec 3<>"$folder/out"
                    '\(Programs.notifyctl)' wait 'jobs.>' >"$folder/out" 3<&- &
                    head -c 1 <&3
                    echo " $!"
                    wait $!
                    echo end $?
                    """,
                ], environment: Daemon.clean.merging(["NOTIFYD_SOCKET": daemon.socket]) { $1 })
            try daemon.waitForSubscriptions(1)
            try post([String(repeating: "x", count: 500_000)])
            let pid = try #require(Int32(try await process.waitForLines(1)[0].dropFirst("x ".count)))
            kill(pid, SIGTERM)
            #expect(try await process.waitForLines(2).last == "end 1")
        }

        @Test func `'subscribe --exec' runs the command for each message, and reports failures`() async throws {
            let process = try notifyctl.start(
                ["subscribe", "jobs.>", "--exec", "--count", "3", "--", "sh", "-c", "read job; echo $job; exit $job"])
            try daemon.waitForSubscriptions(1)
            try post(["0\n", "3\n", "0\n"])
            #expect(try await process.waitForExit() == .status(0))
            #expect(try await process.waitForLines(3) == ["0", "3", "0"])
            let errors = try await process.standardError.wait("end of errors") { $0.isAtEnd ? $0 : nil }
            expectText(errors.text, "the command for message 2 'jobs.a' has failed: exit status 3")
        }
    }
}
