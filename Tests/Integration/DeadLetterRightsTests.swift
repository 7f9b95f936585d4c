import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// Dead letters of a user who loses the right to receive the names of the messages.
    @Suite(.enabled(if: Requirements.canSwitchUser)) struct DeadLetterRightsTests {
        private static let owner: UInt32 = 54_321
        private static let name = "notifyd.dead.\(owner)"
        private static let revoked = "policy:\n  - {deny: [subscribe], names: [\"jobs.secret\"], uids: [\(owner)]}\n"

        private let daemon: Daemon
        private let notifyctl: Notifyctl

        init() async throws {
            let folder = try TemporaryFolder()
            let file = try folder.write("", to: "n.yaml")
            daemon = try await Daemon.start(
                ["--config", file], environment: ["NOTIFYD_SOCKET_MODE": "0666"], folder: folder)
            chmod(folder.path, 0o755)
            notifyctl = Notifyctl(daemon)
        }

        /// Runs notifyctl as another user.
        private func run(as uid: UInt32 = owner, _ arguments: String) async throws -> Notifyctl.Result {
            try await notifyctl.shell("\(Requirements.asUser(uid).joined(separator: " ")) notifyctl \(arguments)")
        }

        /// The output of each command that shows the dead letters to their owner.
        private func shown() async throws -> [String] {
            let durable = "\(UUID())"
            let subscribe = "subscribe \(Self.name) end --from oldest --count 1 --timeout 60s"
            var lines: [String] = []
            for command in [
                "dead list --json", "dead show", "log \(Self.name) end --format {payload}", subscribe,
                "\(subscribe) --durable \(durable)",
            ] {
                let result = try await run(command)
                #expect(result.status == .status(0), "\(command): \(result.errors)")
                lines.append(result.output.contains("password") ? "password" : result.output)
            }
            // The payload is not part of the list.
            lines[0] = lines[0].contains("jobs.secret") ? "password" : lines[0]
            return lines
        }

        @Test func `an owner sees dead letters only while it may receive the names of their messages`() async throws {
            let root = try RawClient(daemon)
            #expect(try await run("durable create w 'jobs.>' --group").status == .status(0))
            try root.post("jobs.secret", "password")
            let failed = try await run("wait 'jobs.>' --durable w --group -- sh -c 'exit 65'")
            #expect(failed.status == .status(1), "\(failed.errors)")
            try root.post("end", "end", durability: .stored)
            #expect(try await shown() == Array(repeating: "password", count: 5))
            #expect(try await run(as: 54_322, "dead list --user \(Self.owner)").status == .status(77))

            _ = try daemon.folder.write(Self.revoked, to: "n.yaml")
            #expect(try await notifyctl.run("reload").status == .status(0))
            #expect(try await shown() == ["", "", "end\n", "end\n", "end\n"])
            let retried = try await run("dead retry w")
            #expect(retried.status == .status(1))
            expectText(retried.errors, "1 dead letter kept")
            let ofRoot = try await notifyctl.run("dead", "show", "--user", "\(Self.owner)")
            expectText(ofRoot.output, "password")

            _ = try daemon.folder.write("", to: "n.yaml")
            #expect(try await notifyctl.run("reload").status == .status(0))
            #expect(try await shown() == Array(repeating: "password", count: 5))
            #expect(try await run("dead retry w").status == .status(0))
            #expect(try await run("wait 'jobs.>' --durable w --group").output == "password\n")
        }
    }
}
