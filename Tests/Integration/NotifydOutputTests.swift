import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// The end of the commands of notifyd that print something and exit, if their output can't be written.
    @Suite struct NotifydOutputTests {
        /// The options, and the status if the output can't be written.
        private static let commands: [(options: String, status: Int32)] = [
            ("--help", 1), ("--version", 1), ("--check-config", 1), ("--check-start", 1), ("--check", 2),
            ("--repair --to $(mktemp -u)", 1), ("--restore \"$BACKUP\"", 1),
        ]

        private let folder: TemporaryFolder
        private let shell: Notifyctl

        /// Leaves a log of a stopped daemon, and a backup of it.
        init() async throws {
            let daemon = try await Daemon.start()
            try RawClient(daemon).post("a", "x", durability: .stored)
            let backup = daemon.folder.file("backup")
            #expect(try await Notifyctl(daemon).run("backup", backup).status == .status(0))
            try await daemon.stop()
            folder = daemon.folder
            shell = Notifyctl(
                socket: daemon.socket, environment: ["NOTIFYD_DATABASE": daemon.database, "BACKUP": backup])
        }

        @Test(arguments: commands)
        func `a full disk ends each command with one line`(options: String, status: Int32) async throws {
            let result = try await shell.shell("notifyd \(options) >/dev/full")
            #expect(result.status == .status(status))
            #expect(result.errors == "notifyd: can't write to standard output: No space left on device\n")
        }

        @Test(arguments: commands)
        func `a closed pipe ends each command with one line`(options: String, status: Int32) async throws {
            let result = try await shell.shellWithoutReader("notifyd \(options)")
            #expect(result.output == "\(status)\n")
            #expect(result.errors == "notifyd: can't write to standard output: its reader has closed it\n")
        }
    }
}
