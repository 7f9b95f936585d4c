import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// The database is deleted or moved while notifyd has it open.
    @Suite struct LostDatabaseTests {
        private func move(_ daemon: Daemon, to suffix: String, from other: String = "") throws {
            for file in ["", "-wal"] {
                let (source, target) = (daemon.database + other + file, daemon.database + suffix + file)
                try #require(rename(source, target) == 0)
            }
        }

        private func waitForStatus(_ daemon: Daemon, _ prefix: String, after count: Int) async throws {
            _ = try await daemon.manager.messages.wait("the status \(prefix)") { messages in
                messages.dropFirst(count).first { $0.hasPrefix("STATUS=\(prefix)") }
            }
        }

        @Test func `no stored or synced post gets a receipt while the database is missing`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try client.subscribe("volatile")
            try client.post("kept", durability: .stored)
            for round in 1...2 {
                try move(daemon, to: ".away")
                for durability in [Durability.stored, .synced] {
                    expectRefusal(.storageFailed) { try client.post("lost", durability: durability) }
                }
                try client.post("volatile", "\(round)", durability: .volatile)
                #expect(try client.message().text == "\(round)")
                let problem = "the database '\(daemon.database)' was deleted or moved away: move it back, or reload"
                try await waitForStatus(daemon, "degraded: \(problem)", after: 0)
                _ = try await daemon.process.standardError.wait("the error in the log") { errors in
                    errors.text.contains("error notifyd: stored posts are refused: \(problem)") ? true : nil
                }
                let count = daemon.manager.messages.current.count
                try move(daemon, to: "", from: ".away")
                try await waitForStatus(daemon, "running", after: count)
                try client.post("kept", durability: .synced)
            }
            try await daemon.kill()
            try await daemon.start()
            #expect(try RawClient(daemon).statistics()["log_messages"] == 3)
        }

        /// The numbers of the posts, by outcome.
        private struct Outcomes: Sendable {
            var stored: [Int] = []
            var refused: [Int] = []
            var isEnding = false
            var hasEnded = false
        }

        /// Starts a thread that posts messages one after another until `isEnding` is set.
        private func post(to daemon: Daemon) throws -> Watched<Outcomes> {
            let outcomes = Watched(Outcomes())
            let socket = daemon.socket
            Thread.detachNewThread {
                defer { outcomes.update { $0.hasEnded = true } }
                guard let client = try? RawClient(path: socket) else { return }
                for number in 0... {
                    if outcomes.update({ $0.isEnding }) { return }
                    do {
                        try client.post("a", "\(number)", durability: number % 5 == 0 ? .synced : .stored)
                        outcomes.update { $0.stored.append(number) }
                    } catch is Refused {
                        outcomes.update { $0.refused.append(number) }
                    } catch {
                        return
                    }
                }
            }
            return outcomes
        }

        @Test func `a database moved away under load has exactly the receipted messages`() async throws {
            let daemon = try await Daemon.start()
            let outcomes = try post(to: daemon)
            for _ in 0..<8 {
                let stored = outcomes.current.stored.count
                _ = try await outcomes.wait("posts") { $0.stored.count > stored + 20 ? true : nil }
                let refused = outcomes.current.refused.count
                try move(daemon, to: ".away")
                _ = try await outcomes.wait("a refusal") { $0.refused.count > refused ? true : nil }
                try move(daemon, to: "", from: ".away")
            }
            outcomes.update { $0.isEnding = true }
            let ended = try await outcomes.wait("the last post") { $0.hasEnded ? $0 : nil }
            try await daemon.kill()
            try await daemon.start()

            let client = try RawClient(daemon)
            try client.subscribe("a", durable: "reader", from: .oldest, window: 10_000)
            var found: [Int] = []
            while found.count < ended.stored.count {
                let message = try client.message()
                found.append(try #require(Int(message.text)))
                try client.acknowledge(1, through: message.stamp.sequence)
            }
            #expect(found == ended.stored)
            #expect(try client.statistics()["log_messages"] == UInt64(found.count))
        }

        @Test func `a reload after the loss of the database creates a log that continues the sequences`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try client.subscribe("a", as: 1, durable: "reader")
            let first = try client.post("a", durability: .stored).sequence
            #expect(try client.message().stamp.sequence == first)
            try client.acknowledge(1, through: first)
            for suffix in ["", "-wal"] { unlink(daemon.database + suffix) }
            expectRefusal(.storageFailed) { try client.post("a") }
            let count = daemon.manager.messages.current.count
            daemon.process.send(SIGHUP)
            try await waitForStatus(daemon, "running", after: count)
            _ = try await daemon.process.standardError.wait("the error in the log") { errors in
                errors.text.contains("critical notifyd: the database '\(daemon.database)' was missing") ? true : nil
            }
            // The next commit reports that the storage works again.
            _ = try await daemon.process.standardError.wait("storage to work") { errors in
                errors.text.contains("storage works again") ? true : nil
            }
            let second = try client.post("a", durability: .synced).sequence
            #expect(second > first)
            let usage = try await Notifyctl(daemon).run("stats", "--limits")
            // The new log also has the first message, from memory.
            expectText(usage.output, "user.\(getuid()).stored_messages 2\n")
            try await daemon.kill()
            try await daemon.start()

            let later = try RawClient(daemon)
            #expect(try later.statistics()["log_messages"] == 2)
            #expect(try later.subscribe("a", as: 1, durable: "reader").isResumed)
            #expect(try later.message().stamp.sequence == second)
            #expect(try later.post("b").sequence > second)
        }

        @Test func `a reload does not replace another file in the database's place`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try move(daemon, to: ".away")
            try "theirs".write(toFile: daemon.database, atomically: false, encoding: .utf8)
            expectRefusal(.storageFailed) { try client.post("a", durability: .stored) }
            daemon.process.send(SIGHUP)
            _ = try await daemon.process.standardError.wait("the refusal") { errors in
                errors.text.contains("the log was not repaired: the database '\(daemon.database)' was replaced")
                    ? true : nil
            }
            #expect(try String(contentsOfFile: daemon.database, encoding: .utf8) == "theirs")
            expectRefusal(.storageFailed) { try client.post("a", durability: .stored) }
            unlink(daemon.database)
            try move(daemon, to: "", from: ".away")
            _ = try await daemon.process.standardError.wait("storage to work") { errors in
                errors.text.contains("storage works again") ? true : nil
            }
            #expect(try client.post("a", durability: .stored).durability == .stored)
            #expect(try await daemon.stop() == .status(0))
        }
    }
}
