import Foundation
import NotifyWire
import TestSupport
import Testing

extension IntegrationTests {
    /// notifyd killed at each of the calls by which its first start changes files.
    @Suite(.enabled(if: Requirements.canTrace)) struct InterruptedFirstStartTests {
        @Test(arguments: ["pwrite64", "fdatasync", "fsync", "ftruncate", "unlink", "fchmod"])
        func theNextStartFinishesIt(call: String) async throws {
            var deaths = 0
            while true {
                let folder = try TemporaryFolder()
                let run = try NotifydRun(
                    ["--socket", folder.file("socket"), "--database", folder.file("notifyd.db")],
                    launcher: [
                        "strace", "-f", "-o", "/dev/null", "-e", "trace=\(call)", "-e",
                        "inject=\(call):signal=KILL:when=\(deaths + 1)",
                    ], managerPath: folder.file("manager"))
                guard (try? await run.ready()) == nil else {
                    try await stop(childOf: run)
                    break
                }
                deaths += 1
                let daemon = try await Daemon.start(folder: folder)
                let receipt = try RawClient(daemon).post("a", durability: .stored)
                #expect(receipt.sequence == 1, "killed at call \(deaths)")
                #expect(try await daemon.stop() == .status(0))
            }
            print("\(call): \(deaths) deaths")
        }

        /// Ends the daemon that runs under strace, and so strace.
        private func stop(childOf run: NotifydRun) async throws {
            let pid = run.process.pid
            let children = try String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)
            let child = try #require(pid_t(children.trimmingCharacters(in: .whitespaces)))
            kill(child, SIGTERM)
            try await run.process.waitForExit()
        }
    }
}
