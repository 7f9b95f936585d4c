import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// `notifyctl post --lines` while storage fails, and when the daemon dies.
    @Suite struct NotifyctlLinesTests {
        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
        }

        /// Starts a daemon that refuses to store, because the disk has less free space than it must keep.
        private func startFull() async throws -> Daemon {
            let file = try folder.write("log: {min_free_bytes: 16TiB}\n", to: "notifyd.yaml")
            return try await Daemon.start(["--config", file], folder: folder)
        }

        private func makeRoom(_ daemon: Daemon) async throws {
            _ = try folder.write("log: {min_free_bytes: 0}\n", to: "notifyd.yaml")
            #expect(try await Notifyctl(daemon).run("reload").status == .status(0))
        }

        @Test func `the first storage error ends the command with one line that counts the lines`() async throws {
            let daemon = try await startFull()
            let result = try await Notifyctl(daemon).shell(
                "yes | notifyctl post a --lines --durability stored", within: .seconds(60))
            #expect(result.status == .status(75))
            #expect(result.output == "")
            #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
            #expect(result.errors.hasPrefix("notifyctl: stopped at line 1: "), "\(result.errors)")
            expectText(result.errors, "; posted 0 lines (0 stored), ")
            expectText(result.errors, " not posted (lines 1 to ")
            expectText(result.errors, ", none from line ")
            #expect(!result.errors.contains("unknown"))
        }

        @Test func `with --retry, refused lines are sent again in order`() async throws {
            let daemon = try await startFull()
            let lines = (1...2000).map { "\($0)\n" }.joined()
            let process = try Notifyctl(daemon).start(
                ["post", "a", "--lines", "--durability", "stored", "--retry", "10m"], input: .text(lines))
            _ = try await process.standardError.wait("the first refusal") { errors in
                errors.text.contains("; retrying for 10m\n") ? true : nil
            }
            try await makeRoom(daemon)
            #expect(try await process.waitForExit() == .status(0))
            let errors = try await process.standardError.wait("the end") { $0.isAtEnd ? $0.lines : nil }
            #expect(
                errors.count == 2 && errors.last?.hasPrefix("notifyctl: posted 2000 lines (2000 stored) in ") == true)
            let log = try await Notifyctl(daemon).run("log", "a", "--format", "{text}")
            #expect(log.output == lines)
        }

        @Test func `after the reader has stalled, all receipts are printed although no input follows`() async throws {
            let daemon = try await Daemon.start()
            let count = 1000
            // The name is long, so that the receipts fill the pipe to the reader.
            let name = "a." + String(repeating: "b", count: 200)
            let process = try ChildProcess(
                "/bin/sh",
                [
                    "-c",
                    """
                    cd "$FOLDER"
                    mkfifo out gate
                    exec 3<>out 4<&0
                    "$NOTIFYCTL" post \(name) --lines <&4 >&3 3<&- 4<&- &
                    read line <gate
                    head -n \(count) <&3
                    kill $!
                    """,
                ],
                environment: Daemon.clean.merging([
                    "NOTIFYD_SOCKET": daemon.socket, "NOTIFYCTL": Programs.notifyctl, "FOLDER": folder.path,
                ]) { $1 }, input: .pipe)
            try process.write((1...count).map { "\($0)\n" }.joined())
            let client = try RawClient(daemon)
            while try client.statistics()["messages_in"] != UInt64(count) {}
            try "go\n".write(toFile: folder.file("gate"), atomically: false, encoding: .utf8)
            let receipts = try await process.waitForLines(count, within: .seconds(60))
            #expect(receipts.allSatisfy { $0.hasPrefix("posted \(name) sequence=") })
        }

        @Test func `--retry ends after its time while storage fails`() async throws {
            let daemon = try await startFull()
            let result = try await Notifyctl(daemon).run(
                "post", "a", "--lines", "--durability", "stored", "--retry", "5s", input: .text("one\ntwo\n"))
            #expect(result.status == .status(75))
            expectText(result.errors, "posted 0 lines (0 stored), 2 not posted (lines 1 to 2)")
        }

        @Test func `without a daemon, --retry ends after its time with one line`() async throws {
            let path = folder.file("n.sock")
            let process = try ChildProcess(
                Programs.notifyctl, ["post", "a", "--lines", "--retry", "1", "--socket", path],
                environment: Daemon.clean, input: .text("1\n"))
            #expect(try await process.waitForExit() == .status(69))
            let errors = try await process.standardError.wait("the end") { $0.isAtEnd ? $0.text : nil }
            #expect(errors.split(separator: "\n").count == 1, "\(errors)")
            expectText(errors, "stopped at line 1: timed out after 1 s without a connection to notifyd: ")
            expectText(errors, "; nothing was sent; posted 0 lines (0 stored), 1 not posted (line 1)")
        }

        @Test func `after a kill of the daemon, the lines without a receipt are one unknown range`() async throws {
            let daemon = try await Daemon.start()
            let lines = String(repeating: "line\n", count: 1_000_000)
            let process = try Notifyctl(daemon).impatient.start(
                ["post", "a", "--lines", "--durability", "stored", "--retry", "10m"], input: .text(lines))
            _ = try await process.waitForLines(1000)
            // While the daemon is stopped, lines are sent that it can't answer.
            daemon.process.send(SIGSTOP)
            try daemon.process.waitUntilStopped()
            try await daemon.kill()
            #expect(try await process.waitForExit() == .status(1))
            let errors = try await process.standardError.wait("the end") { $0.isAtEnd ? $0.text : nil }
            let posted = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.lineCount : nil }
            expectText(errors, "stopped at line \(posted + 1): ")
            expectText(errors, "posted \(posted) lines (\(posted) stored)")
            expectText(errors, "unknown for ")
            expectText(errors, "(lines \(posted + 1) to ")
            #expect(errors.split(separator: "\n").count <= 2, "\(errors)")
        }

        @Test func `invalid lines are counted, and the other lines are posted`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_LIMITS_PAYLOAD_BYTES": "10"])
            let lines = (1...30).map { $0.isMultiple(of: 2) ? "\($0)\n" : "much too long \($0)\n" }.joined()
            let result = try await Notifyctl(daemon).run(
                "post", "a", "--lines", "--durability", "stored", input: .text(lines))
            #expect(result.status == .status(65))
            #expect(result.lines.count == 15)
            let errors = result.errors.split(separator: "\n")
            #expect(errors.count == 11)
            #expect(errors.last == "notifyctl: posted 15 lines (15 stored), 15 invalid")
        }

        @Test func `a signal ends the command with one line that counts the lines`() async throws {
            let daemon = try await Daemon.start()
            let process = try Notifyctl(daemon).start(["post", "a", "--lines", "--quiet"], input: .pipe)
            let client = try RawClient(daemon)
            try client.subscribe("a")
            try process.write("1\n")
            #expect(try client.message().text == "1")
            process.send(SIGTERM)
            #expect(try await process.waitForExit() == .status(1))
            let errors = try await process.standardError.wait("the end") { $0.isAtEnd ? $0.text : nil }
            expectText(errors, "interrupted: posted 1 line (0 stored)")
            #expect(!errors.contains("none from line"), "no further line is known: \(errors)")
        }

        @Test func `a signal before the first connection leaves no line unknown`() async throws {
            // Never answers the greeting.
            let listener = try Listener(path: folder.file("n.sock"))
            let process = try ChildProcess(
                Programs.notifyctl, ["post", "a", "--lines", "--retry", "10m", "--socket", folder.file("n.sock")],
                environment: Daemon.clean, input: .text("1\n2\n"))
            // The process connects after it has set its signal handlers.
            var state = pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)
            try #require(poll(&state, 1, 300_000) == 1)
            process.send(SIGTERM)
            #expect(try await process.waitForExit() == .status(1))
            let errors = try await process.standardError.wait("the end") { $0.isAtEnd ? $0.text : nil }
            withExtendedLifetime(listener) {}
            expectText(errors, "posted 0 lines (0 stored)")
            #expect(!errors.contains("unknown"), "\(errors)")
        }

        @Test(.enabled(if: Requirements.hasTmux))
        func `a terminal shows progress, and a hint where the output is piped`() async throws {
            let daemon = try await Daemon.start()
            let fifo = daemon.folder.file("lines")
            try (0..<200_000).map { "line \($0)\n" }.joined().write(toFile: fifo, atomically: true, encoding: .utf8)
            try await TmuxTerminal.with(daemon) { terminal in
                try await terminal.type("notifyctl post b --lines --durability synced --file \(fifo) | cat >/dev/null")
                try await terminal.press("Enter")
                try await terminal.wait("the progress") { screen in
                    screen.text.contains("% ") && screen.text.contains(" lines, ") ? true : nil
                }
                try await terminal.waitForText("posted 200000 lines (200000 stored) in ")
                try await terminal.type("notifyctl bench post --messages 5000000 | cat >/dev/null")
                try await terminal.press("Enter")
                try await terminal.wait("the progress of a measurement") { screen in
                    screen.text.contains("% ") && screen.text.contains("/s") ? true : nil
                }
                try await terminal.press("C-c")
                try await terminal.type("clear; notifyctl subscribe b --durable d | cat >/dev/null")
                try await terminal.press("Enter")
                try await terminal.waitForText("each message is acknowledged once it is written to the pipe")
            }
        }
    }
}
