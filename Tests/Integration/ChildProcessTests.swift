import Foundation
import SystemPackage
import Testing

extension IntegrationTests {
    /// Tests of the harness itself: waits are bounded, and a signal never reaches another process.
    @Suite struct ChildProcessTests {
        @Test func `output, errors and exit status are captured`() async throws {
            let process = try ChildProcess("sh", ["-c", "echo out; echo err >&2; cat; exit 3"], input: .text("in"))
            #expect(try await process.waitForExit() == .status(3))
            let output = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0 : nil }
            #expect(output.lines == ["out", "in"])
            #expect(try await process.standardError.wait("the end") { $0.isAtEnd ? $0.text : nil } == "err\n")
        }

        @Test func `lines can be awaited while the process runs`() async throws {
            let process = try ChildProcess(
                "sh", ["-c", "echo $GREETING; read line; echo $line; exec sleep 600"],
                environment: ["GREETING": "hello"],
                input: .pipe)
            #expect(try await process.waitForLines(1) == ["hello"])
            try process.write("more\n")
            #expect(try await process.waitForLines(2) == ["hello", "more"])
            #expect(!process.hasExited)
            process.send(SIGTERM)
            #expect(try await process.waitForExit() == .signal(SIGTERM))
            process.send(SIGKILL)
        }

        @Test func `a child process inherits no descriptors of the tests`() async throws {
            // A child process that is started without precautions would inherit both ends.
            let pipe = Pipe()
            let process = try ChildProcess("ls", ["/proc/self/fd"])
            #expect(try await process.waitForExit() == .status(0))
            // The fourth descriptor is the directory that `ls` reads.
            let output = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0 : nil }
            #expect(output.lines == ["0", "1", "2", "3"])
            withExtendedLifetime(pipe) {}
        }

        @Test func `waits have a time limit`() async throws {
            let process = try ChildProcess("sleep", ["600"])
            await #expect(throws: TimedOut.self) { try await process.waitForExit(within: .milliseconds(50)) }
            await #expect(throws: TimedOut.self) { try await process.waitForLines(1, within: .milliseconds(50)) }
        }

        @Test func `a missing program is an error`() {
            #expect(throws: Errno.self) { try ChildProcess("/nonexistent/program", []) }
        }
    }
}
