import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// A daemon whose standard error is a pipe that nothing reads from.
    @Suite struct FullStandardErrorTests {
        @Test func `a full standard error blocks neither the daemon nor its shutdown`() async throws {
            let folder = try TemporaryFolder()
            let path = folder.file("errors")
            #expect(mkfifo(path, 0o600) == 0)
            let pipe = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            defer { close(pipe) }
            let run = try NotifydRun(
                ["--socket", folder.file("socket"), "--database", folder.file("n.db"), "--log-level", "trace"],
                launcher: ["sh", "-c", "errors=$1; shift; exec \"$@\" 2>\"$errors\"", "sh", path],
                managerPath: folder.file("manager"))
            let socket = try await run.ready()
            fill(pipe)
            let client = try RawClient(path: socket)
            // Each request is a line of the log. Together the lines are longer than the pipe and the daemon's buffer.
            for _ in 0..<10_000 { try client.post("a", durability: .volatile) }
            let request = client.newRequest()
            try client.send(Reload(request: request))
            _ = try client.wait("the reload's answer") { if case .reloaded(let answer) = $0 { answer } else { nil } }
            run.process.send(SIGTERM)
            #expect(try await run.process.waitForExit(within: .seconds(60)) == .status(0))
        }

        private func fill(_ pipe: Int32) {
            let bytes = [UInt8](repeating: 0, count: 4096)
            while write(pipe, bytes, bytes.count) > 0 {}
        }
    }
}
