import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// Conditional changes of values over restarts and restores of the daemon.
    @Suite struct ValueConditionTests {
        @Test(arguments: [false, true])
        func `an expected sequence stays valid over a restart`(isKilled: Bool) async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            let first = try client.setValue("1", for: "a", ifSequence: 0).sequence
            let second = try client.setValue("2", for: "a", ifSequence: first).sequence
            try client.setValue("x", for: "b")
            let cleared = try client.clear("b").sequence
            if isKilled { try await daemon.kill() } else { try await daemon.stop() }
            try await daemon.start()
            let other = try RawClient(daemon)
            for wrong in [0, first, second + 1, cleared] {
                expectRefusal(.valueChanged) { try other.setValue("3", for: "a", ifSequence: wrong) }
                expectRefusal(.valueChanged) { try other.clear("a", object: "", ifSequence: wrong) }
            }
            for wrong in [cleared, cleared - 1] {
                expectRefusal(.valueChanged) { try other.setValue("y", for: "b", ifSequence: wrong) }
            }
            let third = try other.setValue("3", for: "a", ifSequence: second).sequence
            #expect(third > cleared, "a sequence is never given twice")
            try other.setValue("y", for: "b", ifSequence: 0)
            #expect(try other.values(">").map(\.text) == ["3", "y"])
        }

        /// The sequence of a value that the backup lacks must not become that of another value.
        @Test func `after a restore, only the sequence of the restored value is the expected one`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            let old = try client.setValue("old", for: "a", ifSequence: 0).sequence
            let backup = try await Notifyctl(daemon).run("backup", daemon.folder.file("copy"))
            #expect(backup.status == .status(0), "\(backup.errors)")
            let new = try client.setValue("new", for: "a", ifSequence: old).sequence
            let later = try client.setValue("later", for: "b", ifSequence: 0).sequence
            let changes = try client.readValues([">"], .changes(after: later, announcedAfter: 0, isWaiting: false))
            try await daemon.stop()
            let restore = try NotifydRun(
                ["--database", daemon.database, "--restore", daemon.folder.file("copy")],
                managerPath: daemon.folder.file("restore"))
            #expect(try await restore.process.waitForExit() == .status(0))
            try await daemon.start()
            let other = try RawClient(daemon)
            #expect(try other.values(">").map(\.text) == ["old"])
            expectRefusal(.valueChanged) { try other.setValue("x", for: "a", ifSequence: new) }
            expectRefusal(.valueChanged) { try other.setValue("x", for: "b", ifSequence: later) }
            let set = try other.setValue("x", for: "a", ifSequence: old).sequence
            #expect(set > later, "sequences continue above those of the replaced log")
            #expect(try other.setValue("y", for: "b", ifSequence: 0).sequence > set)
            // A watch that was up to date with the replaced log reads all values again.
            let resumed = try other.readValues(
                [">"], .changes(after: later, announcedAfter: 0, isWaiting: false), epoch: changes.page.epoch)
            #expect(resumed.page.isReset && resumed.values.isEmpty)
        }
    }
}
