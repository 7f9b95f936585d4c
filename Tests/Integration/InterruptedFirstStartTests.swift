import Foundation
import NotifyWire
import TestSupport
import Testing

extension IntegrationTests {
    /// Tests that kill notifyd at each system call with which its first start writes, flushes, truncates or removes files.
    @Suite(.enabled(if: Requirements.canTrace)) struct InterruptedFirstStartTests {
        @Test(arguments: ["pwrite64", "fdatasync", "fsync", "ftruncate", "unlink", "fchmod"])
        func `the next start completes an interrupted first start`(call: String) async throws {
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
            print("\(call): killed \(deaths) times")
        }

        /// The start that created the file may have been killed before it flushed the folder.
        @Test func `a start with an empty database file flushes its folder before it writes`() async throws {
            let folder = try TemporaryFolder()
            _ = try folder.write("", to: "notifyd.db")
            let trace = folder.file("trace")
            let run = try NotifydRun(
                ["--socket", folder.file("socket"), "--database", folder.file("notifyd.db")],
                launcher: ["strace", "-f", "-y", "-o", trace, "-e", "trace=fsync,pwrite64"],
                managerPath: folder.file("manager"))
            try await run.ready()
            try await stop(childOf: run)
            let calls = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
            let flush = calls.firstIndex { $0.contains("fsync(") && $0.contains("<\(folder.path)>") }
            let write = calls.firstIndex { $0.contains("<\(folder.path)/notifyd.db>") && $0.contains("pwrite64(") }
            #expect(try #require(flush) < #require(write))
        }

        /// Ends the daemon that runs under strace. strace then ends as well.
        private func stop(childOf run: NotifydRun) async throws {
            let pid = run.process.pid
            let children = try String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)
            let child = try #require(pid_t(children.trimmingCharacters(in: .whitespaces)))
            kill(child, SIGTERM)
            try await run.process.waitForExit()
        }
    }
}
