import Foundation
import Glibc
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension RealTimeTests {
    /// Timeouts of commands, with what must happen before they pass.
    @Suite struct TimeoutTests: WorkSuite {
        let setUp: CommandSetUp

        init() async throws { setUp = try await CommandSetUp() }

        @Test func `messages do not extend the timeout of 'subscribe'`() async throws {
            let began = ContinuousClock.now
            let process = try notifyctl.start(["subscribe", "a", "--timeout", "60s"])
            // Posts until notifyctl ends, because messages must not extend the timeout.
            while !process.hasExited, .now < began + .seconds(300) {
                try poster.post("a", "x")
                try await Task.sleep(for: .milliseconds(100))
            }
            #expect(try await process.waitForExit() == .status(124))
            #expect(ContinuousClock.now - began >= .seconds(60))
            let output = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0 : nil }
            #expect(!output.bytes.isEmpty)
            let errors = try await process.standardError.wait("the end of errors") { $0.isAtEnd ? $0.text : nil }
            #expect(errors == "notifyctl: timed out after 60 s\n")
            try daemon.waitForSubscriptions(0)
        }

        @Test func `a timeout reports unconfirmed acknowledgements`() async throws {
            let process = try await notifyctl.impatient.startProcessing(
                ["subscribe", "a", "--durable", "s", "--timeout", "60s"], daemon)
            daemon.process.send(SIGSTOP)
            try daemon.process.waitUntilStopped()
            #expect(try await process.waitForExit() == .status(124))
            let errors = try await process.standardError.wait("the end of errors") { $0.isAtEnd ? $0.text : nil }
            #expect(
                errors == "notifyctl: timed out after 60 s; notifyd does not answer, so acknowledgements are not "
                    + "confirmed: the last messages may be delivered again\n")
        }

        @Test func `'wait --timeout 0' prints a stored message even if the disk is slow`() async throws {
            let (daemon, hanging) = try await Daemon.startWithHangingDisk()
            let client = try RawClient(daemon)
            try client.post("a", "stored", durability: .stored)
            _ = try daemon.folder.write("", to: "hanging")
            // The commit of this message delays the reading of the stored one.
            try client.send(post: "b", durability: .stored)
            let process = try Notifyctl(daemon).start(["wait", "a", "--from", "oldest", "--timeout", "0"])
            try daemon.waitForSubscriptions(1)
            // Longer than 'wait' waits for the message after the log was read.
            try await Task.sleep(for: .seconds(5))
            #expect(!process.hasExited)
            unlink(hanging)
            #expect(try await process.waitForExit() == .status(0))
            #expect(try await process.waitForLines(1) == ["stored"])
        }

        @Test func `a slow disk does not fail an interrupted command that may wait for it`() async throws {
            let (daemon, hanging) = try await Daemon.startWithHangingDisk()
            let worker = try Notifyctl(daemon).start(["work", "a", "--durable", "w", "--", "echo", "done"])
            try daemon.waitForSubscriptions(1)
            _ = try daemon.folder.write("", to: "hanging")
            try RawClient(daemon).send(post: "a", durability: .stored)
            worker.send(SIGTERM)
            // `Daemon.clean` sets the time that notifyctl waits for the daemon. Without it, the time is 3 s.
            try await Task.sleep(for: .seconds(20))
            #expect(!worker.hasExited)
            unlink(hanging)
            #expect(try await worker.waitForExit() == .status(0))
        }

        @Test func `a command that ignores SIGTERM is killed some time after its timeout`() async throws {
            let worker = try start(
                ["--timeout", "60s", "--max-deliveries", "1"],
                script: "trap '' TERM; echo $$; while :; do sleep 1000; done")
            try daemon.waitForSubscriptions(1)
            try post("one")
            let pid = try #require(try await worker.waitForLines(1).first.flatMap { Int32($0) })
            // A durable subscription receives the dead letter after the commit.
            let letter = try await notifyctl.run(
                "wait", "notifyd.dead.>", "--durable", "letters", "--from", "oldest", "--json")
            #expect(letter.status == .status(0))
            let letters = try await notifyctl.run("dead", "list", "--json").objects
            #expect(letters.first?["reason"] as? String == "timed out after 60 s")
            // The command has ended before the answer. notifyctl may still have to reap it.
            let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
            #expect(status?.contains("State:\tZ") ?? true)
            try await stop(worker)
        }
    }
}
