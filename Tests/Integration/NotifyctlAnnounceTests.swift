import Foundation
import Glibc
import TestSupport
import Testing

extension IntegrationTests {
    /// `notifyctl announce` and `notifyctl post --ephemeral`.
    @Suite struct NotifyctlAnnounceTests: CommandSuite {
        private static let name = "services.backup"
        /// A shell that waits until a signal, and prints a line when it is ready, and the signal that it gets.
        private static let waiting = [
            "sh", "-c",
            """
            for signal in TERM INT HUP; do trap "echo got $signal; exit 7" $signal; done
            echo ready; while :; do sleep 0.05; done
            """,
        ]

        let setUp: CommandSetUp

        init() async throws { setUp = try await CommandSetUp(admitsOthers: true) }

        private func announce(
            _ options: String..., command: [String] = waiting, input: ChildProcess.Input = .none
        ) throws -> ChildProcess {
            try notifyctl.start(["announce", Self.name] + options + ["--"] + command, input: input)
        }

        /// Starts to print the messages of the value as JSON.
        private func watch(count: Int) throws -> ChildProcess {
            let process = try notifyctl.start(["subscribe", "services.>", "--count", "\(count)", "--json"])
            try daemon.waitForSubscriptions(1)
            return process
        }

        /// The messages that `watch` has printed: their payload and headers.
        private func messages(_ watch: ChildProcess) async throws -> [(payload: String, headers: [String: String])] {
            #expect(try await watch.waitForExit() == .status(0))
            return try await watch.standardOutput.wait("the end of output") { $0.isAtEnd ? $0 : nil }.lines.map {
                line in
                let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
                return (object["payload"] as? String ?? "", object["headers"] as? [String: String] ?? [:])
            }
        }

        private func value() async throws -> String {
            let result = try await notifyctl.run("get", Self.name)
            return result.status == .status(0) ? result.output : "\(result.status) \(result.errors)"
        }

        private static let none = "status(1) notifyctl: there is no value\n"

        @Test func `a killed 'announce' ends its command by SIGTERM, and the will is posted`() async throws {
            let watch = try watch(count: 3)
            let process = try announce("running", "--will", "died")
            _ = try await process.waitForLines(1)
            #expect(try await value() == "running\n")
            process.send(SIGKILL)
            #expect(try await process.waitForExit() == .signal(SIGKILL))
            #expect(try await process.waitForLines(2) == ["ready", "got TERM"])
            let messages = try await messages(watch)
            #expect(messages.map(\.payload) == ["running", "", "died"])
            #expect(messages[0].headers == ["notifyd-ephemeral": "true"])
            #expect(messages[1].headers == ["notifyd-cleared": "disconnected"])
            #expect(messages[2].headers == [:])
            #expect(try await value() == Self.none)
        }

        @Test(arguments: [("exit 3", 3), ("exit 0", 0), ("kill -KILL $$", 137)])
        func `the exit status is passed on, and is a header of the cleared value`(
            script: String, status: Int32
        ) async throws {
            let watch = try watch(count: 2)
            let process = try announce("running", "--will", "died", "-H", "k: v", command: ["sh", "-c", script])
            #expect(try await process.waitForExit() == .status(status))
            let messages = try await messages(watch)
            #expect(messages.map(\.payload) == ["running", ""])
            #expect(messages[0].headers == ["k": "v", "notifyd-ephemeral": "true"])
            #expect(messages[1].headers == ["exit-status": "\(status)", "notifyd-cleared": "released"])
            #expect(try await value() == Self.none)
        }

        @Test func `the value is set before the command starts, and the command has the standard streams`() async throws
        {
            let result = try await notifyctl.shell(
                """
                echo input | notifyctl announce \(Self.name) running -- sh -c 'notifyctl get "$1"; cat; echo e >&2' sh \(Self.name)
                """)
            #expect(result.output == "running\ninput\n" && result.errors == "e\n" && result.status == .status(0))
        }

        @Test func `the command has no other descriptors than the standard streams`() async throws {
            let process = try announce(command: ["sh", "-c", "ls /proc/$$/fd; :"])
            #expect(try await process.waitForExit() == .status(0))
            #expect(try await process.waitForLines(3) == ["0", "1", "2"])
        }

        @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
        func `a signal is passed on to the command, whose end is waited for`(signal: Int32) async throws {
            let process = try announce()
            _ = try await process.waitForLines(1)
            process.send(signal)
            #expect(try await process.waitForExit() == .status(7))
            let name = [SIGTERM: "TERM", SIGINT: "INT", SIGHUP: "HUP"][signal] ?? ""
            #expect(try await process.waitForLines(2) == ["ready", "got \(name)"])
        }

        @Test(.enabled(if: Requirements.hasTmux))
        func `Ctrl-C on a terminal reaches the command once`() async throws {
            try await TmuxTerminal.with(daemon) { terminal in
                // The shell counts the signals, and ends only at a SIGTERM.
                let script =
                    "trap \"n=x\\$n\" INT; trap \"echo count=\\$n.; exit 3\" TERM; echo ready=$$.; while :; do read x; done"
                try await terminal.type("notifyctl announce \(Self.name) -- bash -c '\(script)'; echo status=$?.")
                try await terminal.press("Enter")
                let pid = try await terminal.wait("the pid") { screen in
                    screen.text.matches(of: /ready=(\d+)\./).first.flatMap { pid_t($0.output.1) }
                }
                try await terminal.press("C-c")
                try await terminal.waitForText("^C")
                // A second SIGINT would arrive before the answer of the daemon.
                _ = try await value()
                kill(pid, SIGTERM)
                try await terminal.waitForText("count=x.")
                try await terminal.waitForText("status=3.")
            }
        }

        @Test func `a refused value does not start the command`() async throws {
            let holder = try announce("first")
            _ = try await holder.waitForLines(1)
            let second = try await notifyctl.run("announce", Self.name, "second", "--", "echo", "started")
            #expect(second.status == .status(75) && second.output == "")
            expectText(second.errors, "the value is announced by the process \(holder.pid)")
            #expect(try await value() == "first\n")

            _ = try await notifyctl.run("post", "services.other", "stored", "--retain")
            let stored = try await notifyctl.run("announce", "services.other", "--", "echo", "started")
            #expect(stored.status == .status(75) && stored.output == "")
            expectText(stored.errors, "there is a stored value")

            let forbidden = try await notifyctl.run("announce", "notifyd.x", "--", "echo", "started")
            #expect(forbidden.status == .status(77) && forbidden.output == "")
            let grace = try await notifyctl.run("announce", "services.third", "--grace", "1h", "--", "echo", "started")
            #expect(grace.status == .status(64) && grace.output == "")
        }

        @Test func `a command that can't be started ends with 127 or 126`() async throws {
            let missing = try await notifyctl.run("announce", Self.name, "--", "/nonexistent")
            #expect(missing.status == .status(127))
            expectText(missing.errors, "the command '/nonexistent' can't be started: there is no such program")
            let file = try daemon.folder.write("no program\n", to: "text")
            chmod(file, 0o755)
            let watch = try watch(count: 2)
            let text = try await notifyctl.run("announce", Self.name, "--", file)
            #expect(text.status == .status(126))
            expectText(text.errors, "it is neither a program nor a script")
            #expect(try await messages(watch).last?.headers["exit-status"] == "126")
        }

        @Test func `a value that is taken over is reported, and the command runs on`() async throws {
            let first = try announce("first", command: ["sh", "-c", "echo ready; cat; exit 5"], input: .pipe)
            _ = try await first.waitForLines(1)
            let second = try announce("second", "--takeover")
            _ = try await second.waitForLines(1)
            let errors = try await first.standardError.wait("the report") { $0.lineCount > 0 ? $0.text : nil }
            expectText(errors, "'\(Self.name)' is no longer announced: ")
            expectText(errors, "the command runs on")
            #expect(try await value() == "second\n")
            first.closeInput()
            #expect(try await first.waitForExit() == .status(5))
            #expect(try await value() == "second\n")
        }

        @Test(.enabled(if: Requirements.canSwitchUser))
        func `another user can't take a value over`() async throws {
            let holder = try announce("first")
            _ = try await holder.waitForLines(1)
            let user = Requirements.asUser(54_321).joined(separator: " ")
            let other = try await notifyctl.shell(
                "\(user) notifyctl announce \(Self.name) x --takeover -- echo started")
            #expect(other.status == .status(75) && other.output == "", "\(other.errors)")
            #expect(try await value() == "first\n" && !holder.hasExited)
        }

        @Test func `the value is announced again after the daemon has restarted`() async throws {
            let process = try announce("running", command: ["sh", "-c", "echo ready; cat"], input: .pipe)
            _ = try await process.waitForLines(1)
            try await daemon.kill()
            _ = try await process.standardError.wait("the disconnection") { $0.lineCount > 0 ? true : nil }
            try await daemon.start()
            #expect(try await notifyctl.run("get", Self.name, "--wait").output == "running\n")
            process.closeInput()
            #expect(try await process.waitForExit() == .status(0))
            #expect(try await value() == Self.none)
        }

        @Test func `the command's status is passed on even if no daemon runs at its end`() async throws {
            let command = ["sh", "-c", "echo ready; cat; exit 9"]
            let process = try notifyctl.impatient.start(
                ["announce", Self.name, "running", "--"] + command, input: .pipe)
            _ = try await process.waitForLines(1)
            try await daemon.kill()
            process.closeInput()
            #expect(try await process.waitForExit() == .status(9))
        }

        @Test(arguments: [SIGTERM, SIGINT])
        func `'post --ephemeral' keeps a value until a signal`(signal: Int32) async throws {
            let process = try notifyctl.start(
                ["post", Self.name, "--ephemeral", "--object", "db1"], input: .text("running"))
            #expect(try await process.waitForLines(1) == ["announced \(Self.name)"])
            #expect(try await notifyctl.run("get", Self.name, "--object", "db1").output == "running\n")
            process.send(signal)
            #expect(try await process.waitForExit() == .status(0))
            #expect(try await value() == Self.none)
        }

        @Test func `'announce' without a command ends with an error when its value is taken over`() async throws {
            let process = try notifyctl.start(["announce", Self.name, "first"])
            _ = try await process.waitForLines(1)
            let second = try await notifyctl.run("announce", Self.name, "second", "--takeover", "--", "true")
            #expect(second.status == .status(0))
            #expect(try await process.waitForExit() == .status(1))
        }
    }
}
