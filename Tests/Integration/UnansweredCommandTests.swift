import Foundation
import Glibc
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// Timeouts and signals end notifyctl even while the daemon, or its disk, stands still.
    @Suite struct UnansweredCommandTests {
        /// The time limit for the end of a command. It is generous: a command that waits for the daemon never ends.
        private let limit = Duration.seconds(60)

        private func expectTimeout(_ process: ChildProcess, sourceLocation: SourceLocation = #_sourceLocation)
            async throws
        {
            #expect(try await process.waitForExit(within: limit) == .status(124), sourceLocation: sourceLocation)
            let errors = try await process.standardError.wait("end of errors") { $0.isAtEnd ? $0 : nil }
            #expect(
                errors.text == "notifyctl: timed out after 1 s; notifyd has not confirmed the subscription\n",
                sourceLocation: sourceLocation)
        }

        private static let limited = [
            ["wait", "a", "--durable", "w", "--timeout", "1s"],
            ["subscribe", "a", "--durable", "s", "--timeout", "1s"],
        ]

        @Test(arguments: limited)
        func `a timeout holds while the daemon stands still`(_ arguments: [String]) async throws {
            let daemon = try await Daemon.start()
            daemon.process.send(SIGSTOP)
            try daemon.process.waitUntilStopped()
            try await expectTimeout(Notifyctl(daemon).impatient.start(arguments))
        }

        /// Sends SIGTERM, and expects that the command ends with this status and these errors within the limit.
        private func expectEnd(_ process: ChildProcess, _ status: Int32, _ errors: String) async throws {
            process.send(SIGTERM)
            #expect(try await process.waitForExit(within: limit) == .status(status))
            let end = try await process.standardError.wait("end of errors") { $0.isAtEnd ? $0 : nil }
            #expect(end.text == errors)
        }

        private func expectEnd(
            _ process: ChildProcess, of daemon: Daemon, _ status: Int32, _ errors: String
        ) async throws {
            daemon.process.send(SIGSTOP)
            try daemon.process.waitUntilStopped()
            try await expectEnd(process, status, errors)
        }

        private static let unconfirmedAcknowledgements =
            "notifyd does not answer, so acknowledgements are not confirmed: the last messages may be delivered again\n"
        private static let unconfirmedWork =
            "notifyctl: notifyd does not answer, so the end of the work is not confirmed: the last jobs may run again\n"

        @Test(arguments: [
            (["subscribe", "a", "--durable", "s"], "notifyctl: \(unconfirmedAcknowledgements)"),
            (["work", "a", "--durable", "s", "--", "echo", "done"], unconfirmedWork),
        ])
        func `a signal ends a command while the daemon stands still`(
            _ arguments: [String], _ errors: String
        ) async throws {
            let daemon = try await Daemon.start()
            let process = try await Notifyctl(daemon).impatient.startProcessing(arguments, daemon)
            try await expectEnd(process, of: daemon, 1, errors)
        }

        @Test func `a signal ends 'wait' while the daemon stands still`() async throws {
            let daemon = try await Daemon.start()
            let process = try Notifyctl(daemon).impatient.start(["wait", "a", "--durable", "s"])
            try daemon.waitForSubscriptions(1)
            try await expectEnd(process, of: daemon, 1, "notifyctl: ended by a signal before a message arrived\n")
        }

        @Test(arguments: [
            ["clients", "--watch"], ["names", "--watch"], ["subscriptions", "--watch"], ["dead", "list", "--watch"],
            ["top"], ["monitor"], ["log", "--follow"], ["subscribe", "a"],
        ])
        func `while the daemon stands still, a signal ends a command that only reads`(
            _ arguments: [String]
        ) async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            let connections = try #require(try client.statistics()["connections"])
            let process = try Notifyctl(daemon).impatient.start(arguments)
            while try client.statistics()["connections"] == connections {}
            daemon.process.send(SIGSTOP)
            try daemon.process.waitUntilStopped()
            try await expectEnd(process, 0, "")
        }

        @Test func `a signal ends 'top --count' with 1 while the daemon stands still`() async throws {
            let daemon = try await Daemon.start()
            let process = try Notifyctl(daemon).impatient.start(["top", "--count", "1000", "--interval", "100ms"])
            _ = try await process.waitForLines(1)
            try await expectEnd(process, of: daemon, 1, "notifyctl: ended by a signal before everything was printed\n")
        }

        @Test func `a signal ends 'log --follow' while the daemon stands still`() async throws {
            let daemon = try await Daemon.start()
            try RawClient(daemon).post("a", durability: .stored)
            let process = try Notifyctl(daemon).impatient.start(["log", "a", "--follow"])
            _ = try await process.waitForLines(1)
            try await expectEnd(process, of: daemon, 0, "")
        }

        @Test func `a signal ends a repeated list before its first table while the daemon stands still`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            let connections = try #require(try client.statistics()["connections"])
            let process = try Notifyctl(daemon).impatient.start(["names", "--watch", "--interval", "9s"])
            while try client.statistics()["connections"] == connections {}
            try await expectEnd(process, of: daemon, 0, "")
        }

        @Test func `while the daemon stands still, a signal ends 'post --lines' with each outcome`() async throws {
            let daemon = try await Daemon.start()
            let file = try daemon.folder.write(String(repeating: "line\n", count: 1_000_000), to: "lines")
            let process = try Notifyctl(daemon).impatient.start(
                ["post", "a", "--lines", "--file", file, "--durability", "stored"])
            _ = try await process.waitForLines(1000)
            daemon.process.send(SIGSTOP)
            try daemon.process.waitUntilStopped()
            process.send(SIGTERM)
            #expect(try await process.waitForExit(within: limit) == .status(1))
            let errors = try await process.standardError.wait("end of errors") { $0.isAtEnd ? $0.text : nil }
            func number(_ pattern: Regex<(Substring, Substring)>) throws -> Int? {
                try pattern.firstMatch(in: errors).flatMap { Int($0.output.1) }
            }
            let posted = try #require(try number(#/^notifyctl: interrupted: posted (\d+) lines \(/#), "\(errors)")
            let unknown = try #require(try number(#/, unknown for (\d+) \(/#), "\(errors)")
            // Lines that the client has not sent yet, because the daemon's window is full.
            let unsent = try number(#/, (\d+) not posted \(/#) ?? 0
            expectText(errors, " (\(posted) stored), ")
            expectText(errors, "\(posted + 1)\(unknown > 1 ? " to \(posted + unknown)" : ""))\n")
            expectText(errors, "none from line \(posted + unknown + unsent + 1) on, unknown for ")
        }

        @Test func `'post --lines' reports each outcome if a signal ends its wait for a connection`() async throws {
            let daemon = try await Daemon.start()
            daemon.process.send(SIGSTOP)
            try daemon.process.waitUntilStopped()
            let input = daemon.folder.file("lines")
            try #require(mkfifo(input, 0o600) == 0)
            let descriptor = open(input, O_RDWR | O_CLOEXEC)
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            let process = try Notifyctl(daemon).impatient.start(["post", "a", "--lines", "--file", input])
            // The command traps signals before it reads, and reads on after it has passed the line to the client.
            for text in ["line\n", "rest"] {
                try #require(write(descriptor, text, text.utf8.count) == text.utf8.count)
                var unread: Int32 = 1
                while unread > 0 {
                    try #require(ioctl(descriptor, UInt(FIONREAD), &unread) == 0)
                    sched_yield()
                }
            }
            try await expectEnd(
                process, 1,
                "notifyctl: interrupted: posted 0 lines (0 stored), 1 not posted (line 1), none from line 2 on\n")
        }

        @Test(arguments: limited)
        func `a timeout holds while the disk stands still`(_ arguments: [String]) async throws {
            let (daemon, hanging) = try await Daemon.startWithHangingDisk()
            _ = try daemon.folder.write("", to: "hanging")
            try await expectTimeout(Notifyctl(daemon).impatient.start(arguments))
            unlink(hanging)
        }

        @Test func `commands ended by a signal while the disk stands still report unconfirmed requests`() async throws {
            let (daemon, hanging) = try await Daemon.startWithHangingDisk()
            let attached = try await Notifyctl(daemon).impatient.startProcessing(
                ["work", "a", "--durable", "w", "--group", "--", "echo", "done"], daemon)
            _ = try daemon.folder.write("", to: "hanging")
            let unconfirmed = [
                try Notifyctl(daemon).impatient.start(["work", "a", "--durable", "new", "--group", "--", "true"]),
                try Notifyctl(daemon).impatient.start(["subscribe", "a", "--durable", "newer"]),
            ]
            try await expectEnd(attached, 1, Self.unconfirmedWork)
            for process in unconfirmed {
                try await expectEnd(process, 1, "notifyctl: notifyd has not confirmed the subscription\n")
            }
            unlink(hanging)
        }
    }
}
