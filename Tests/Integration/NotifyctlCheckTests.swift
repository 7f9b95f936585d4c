import Foundation
import NotifyWire
import TestSupport
import Testing

extension IntegrationTests {
    /// `notifyctl check`, and the repair of a log.
    @Suite struct NotifyctlCheckTests {
        private let daemon: Daemon
        private let notifyctl: Notifyctl

        init() async throws {
            daemon = try await Daemon.start()
            notifyctl = Notifyctl(daemon)
        }

        private func store(_ count: Int) throws -> [UInt64] {
            let poster = try RawClient(daemon)
            return try (1...count).map { try poster.post("a.name", "text \($0);", durability: .stored).sequence }
        }

        @Test func `'check' reports damaged messages that were read, and with --full all of them`() async throws {
            let sequences = try store(200)
            let sound = try await notifyctl.run("check", "--full")
            #expect(sound.status == .status(0) && sound.errors == "")
            #expect(sound.output.hasPrefix("sound messages: 200, names: 1, "))
            #expect(sound.output.hasSuffix("no damage was found\n"))
            try await daemon.stop()
            for number in [50, 51, 90] { try daemon.damage("text \(number);") }
            try await daemon.start()

            let unread = try await notifyctl.run("check")
            #expect(unread.status == .status(0))
            #expect(unread.output == "no damage is known; --full checks every row\n")
            _ = try await notifyctl.run("log", "--from", "\(sequences[80])")
            let read = try await notifyctl.run("check")
            #expect(read.status == .status(1))
            #expect(read.lines.first == "damaged messages: 1 (\(sequences[89]))")
            let full = try await notifyctl.run("check", "--full", "--json")
            #expect(full.status == .status(1))
            let object = try #require(full.objects.first)
            #expect(object["damaged_messages"] as? Int == 3 && object["sound_messages"] as? Int == 197)
            #expect(object["sound"] as? Bool == false && object["full"] as? Bool == true)
            let lines = try await notifyctl.run("check", "--full").lines
            #expect(lines.count == 3 && lines[0].hasPrefix("sound messages: 197, names: 1, "), "\(lines)")
            #expect(lines[1] == "damaged messages: 3 (\(sequences[49]) to \(sequences[50]), \(sequences[89]))")
            #expect(lines[2].hasPrefix("to write the sound data to a new file, "))
            let known = try await notifyctl.run("check")
            #expect(
                known.lines.first
                    == "damaged messages: 3 (\(sequences[49]) to \(sequences[50]), \(sequences[89]))")
        }

        @Test func `a post that a damaged subscription may match is refused, not lost`() async throws {
            _ = try await notifyctl.run("durable", "create", "shipping", "orders.uncommon.*")
            _ = try await notifyctl.run("durable", "create", "sound", "other")
            try await daemon.stop()
            try daemon.damage("orders.uncommon.*")
            try await daemon.start()
            for name in ["orders.uncommon.a", "any"] {
                let refused = try await notifyctl.run("post", name, "x")
                #expect(refused.status == .status(75), "\(refused.output)")
                #expect(refused.errors.contains("is damaged"), "\(refused.errors)")
            }
            let accepted = try await notifyctl.run("post", "--durability", "volatile", "any", "x")
            #expect(accepted.status == .status(0), "\(accepted.errors)")
        }

        @Test func `a log that refuses to store is repaired, and the lost messages are reported`() async throws {
            let sequences = try store(20)
            _ = try await notifyctl.run("durable", "create", "mine", "a.*", "--from", "oldest")
            try await daemon.stop()
            try daemon.damage("text 7;")
            // The boot id is in the log's state. Damage of the state makes the daemon refuse to store.
            let boot = try String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
            try daemon.damage(boot.filter { !$0.isWhitespace })
            try await daemon.start()
            let check = try await notifyctl.run("check")
            #expect(check.status == .status(1) && check.output.contains("notifyd --repair"))
            let doctor = try await notifyctl.run("doctor")
            #expect(doctor.status == .status(1))
            #expect(doctor.output.contains("problem: the log is damaged, and the daemon refuses to store: "))
            let refused = try await notifyctl.run("post", "--durability", "stored", "a.name", "x")
            #expect(refused.status == .status(75))
            try await daemon.stop()

            let repair = try ChildProcess(Programs.notifyd, ["--repair", daemon.database])
            #expect(try await repair.waitForExit() == .status(0))
            let output = try await repair.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
            #expect(output.contains("has lost messages that it had not acknowledged: 1, from \(sequences[6]) to"))
            let restore = try ChildProcess(
                Programs.notifyd, ["--restore", daemon.database + ".repaired", "--database", daemon.database])
            #expect(try await restore.waitForExit() == .status(0))
            try await daemon.start()
            let sound = try await notifyctl.run("check", "--full")
            #expect(sound.status == .status(0))
            let received = try await notifyctl.run("subscribe", "a.*", "--durable", "mine", "-c", "19", "--json")
            expectText(received.errors, "lost 1 message (\(sequences[6])): the daemon no longer keeps them")
            #expect(
                try received.objects.compactMap { $0["sequence"] as? UInt64 }
                    == sequences.enumerated().filter { $0.offset != 6 }.map(\.element))
            #expect(try #require(store(1).first) > (sequences.last ?? 0))
        }
    }
}
