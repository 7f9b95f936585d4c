import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// `notifyctl reload` after the files of the database were moved.
    @Suite struct LostFilesReloadTests {
        @Test func `a reload that can't repair the log reports the reason, and fails`() async throws {
            let daemon = try await Daemon.start()
            let notifyctl = Notifyctl(daemon)
            try RawClient(daemon).post("a", durability: .stored)
            #expect(rename(daemon.database, daemon.folder.file("moved")) == 0)
            _ = try daemon.folder.write("another file", to: (daemon.database as NSString).lastPathComponent)
            let result = try await notifyctl.run("reload")
            #expect(result.status == .status(1))
            #expect(result.output == "configuration reloaded\n")
            #expect(
                result.errors == """
                    notifyctl: the log was not repaired: the database '\(daemon.database)' was replaced by another file: \
                    move that away, then move the original back or reload notifyd (SIGHUP) for a new log with the newest \
                    messages, which are in memory

                    """)

            #expect(rename(daemon.folder.file("moved"), daemon.database) == 0)
            let again = try await notifyctl.run("reload")
            #expect(again.status == .status(0) && again.errors == "")
        }

        /// The daemon copies the messages from memory to the new log.
        @Test func `messages in memory are in the new log, and are not reported as lost`() async throws {
            let daemon = try await Daemon.start()
            let (notifyctl, client) = (Notifyctl(daemon), try RawClient(daemon))
            try client.subscribe("a", durable: "reader")
            try client.detach()
            let posted = try (1...3).map { try client.post("a", "\($0)", durability: .stored).sequence }
            #expect(rename(daemon.database, daemon.folder.file("moved")) == 0)
            #expect(try await notifyctl.run("reload").status == .status(0))
            let listed = try await notifyctl.run("subscribe", "a", "--durable", "reader", "--count", "3")
            #expect(listed.status == .status(0) && listed.lines.count == 3)
            #expect(listed.errors == "")
            let stored = try await notifyctl.run("log", "--format", "{sequence}").lines.compactMap { UInt64($0) }
            #expect(stored == posted)
            #expect(try await daemon.stop() == .status(0))
            try await daemon.start()
            #expect(try await notifyctl.run("log", "--format", "{sequence}").lines.count == 3)
        }
    }
}
