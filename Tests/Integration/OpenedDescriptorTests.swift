import Foundation
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// The flag close-on-exec in the calls that open descriptors. If it were set afterwards, a program that another
    /// thread starts in between would inherit the descriptor.
    @Suite(.enabled(if: Requirements.canTrace)) struct OpenedDescriptorTests {
        private let trace: DescriptorTrace

        init() throws {
            trace = try DescriptorTrace()
        }

        private func start(_ program: String, _ arguments: [String]) throws -> ChildProcess {
            let command = trace.launcher + [program] + arguments
            return try ChildProcess(
                command[0], Array(command.dropFirst()),
                environment: Daemon.clean.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 })
        }

        /// Terminates a traced program, and expects that it has opened descriptors with these calls and others, all of
        /// them with the flag.
        private func expectCloseOnExec(
            _ process: ChildProcess, calls names: [String], sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            process.send(SIGTERM)
            #expect(try await process.waitForExit() == .status(0), sourceLocation: sourceLocation)
            let calls = try trace.opened(by: process)
            for name in names {
                #expect(calls.lines.contains { $0.hasPrefix(name + "(") }, "no \(name)", sourceLocation: sourceLocation)
            }
            #expect(calls.inheritable == [], sourceLocation: sourceLocation)
        }

        @Test func `the daemon opens descriptors close-on-exec`() async throws {
            let folder = try TemporaryFolder()
            let socket = folder.file("socket")
            let run = try NotifydRun(
                ["--socket", socket, "--database", folder.file("n.db")], launcher: trace.launcher,
                managerPath: folder.file("manager"))
            try await run.ready()
            let client = try RawClient(path: socket)
            try client.subscribe("a", durable: "d")
            try client.post("a", "1")
            try await expectCloseOnExec(run.process, calls: ["socket", "epoll_create1", "accept4", "openat"])
        }

        @Test func `a client opens descriptors close-on-exec`() async throws {
            let daemon = try await Daemon.start()
            try RawClient(daemon).subscribe("a", durable: "d")
            try RawClient(daemon).post("a", "1")
            let process = try start(Programs.serviceGroupProgram, [daemon.socket, "returns", "60000", "60000"])
            _ = try await process.waitForLines(1)
            try await expectCloseOnExec(process, calls: ["socket", "epoll_create1"])
        }

        @Test func `a command of notifyctl opens descriptors close-on-exec`() async throws {
            let daemon = try await Daemon.start()
            let process = try start(Programs.notifyctl, ["--socket", daemon.socket, "subscribe", "a"])
            try daemon.waitForSubscriptions(1)
            try RawClient(daemon).post("a", "1")
            _ = try await process.waitForLines(1)
            try await expectCloseOnExec(process, calls: ["socket", "epoll_create1"])
        }

        @Test(arguments: [[], ["--prefix"]])
        func `'work' opens descriptors close-on-exec`(options: [String]) async throws {
            let daemon = try await Daemon.start()
            let process = try start(
                Programs.notifyctl,
                ["--socket", daemon.socket, "work", "jobs.>", "--durable", "w"] + options + ["--", "echo", "done"])
            try daemon.waitForSubscriptions(1)
            try RawClient(daemon).post("jobs.a", "1")
            _ = try await process.waitForLines(1)
            try await expectCloseOnExec(process, calls: ["socket", "epoll_create1", "pipe2"])
        }
    }
}
