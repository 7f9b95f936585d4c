import Foundation
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// A program started by notifyd, notifyctl or a client inherits only the standard descriptors.
    @Suite struct CloseOnExecTests {
        private let daemon: Daemon

        init() async throws {
            daemon = try await Daemon.start()
        }

        /// An open descriptor of a process.
        private struct Descriptor {
            var name: String
            var target: String
            var isInheritable: Bool
        }

        /// The open descriptors of a process, except standard input, output and error.
        private func descriptors(of process: ChildProcess) throws -> [Descriptor] {
            let folder = "/proc/\(process.pid)"
            return try FileManager.default.contentsOfDirectory(atPath: folder + "/fd").compactMap { name in
                guard let number = Int(name), number > 2,
                    // Some descriptors, such as the socket of a connection, may be closed meanwhile.
                    let info = try? String(contentsOfFile: "\(folder)/fdinfo/\(name)", encoding: .utf8),
                    let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/fd/\(name)"),
                    let line = info.split(separator: "\n").first(where: { $0.hasPrefix("flags:") }),
                    let text = line.split(separator: "\t").last, let flags = Int(text, radix: 8)
                else { return nil }
                return Descriptor(name: name, target: target, isInheritable: flags & 0o2_000_000 == 0)
            }
        }

        /// Expects that all descriptors of a process are close-on-exec. A socket and an epoll descriptor must be among
        /// them: without any descriptors, the check would always pass.
        private func expectCloseOnExec(
            _ process: ChildProcess, sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let descriptors = try descriptors(of: process)
            for kind in ["socket:", "anon_inode:[eventpoll]"] {
                #expect(
                    descriptors.contains { $0.target.hasPrefix(kind) }, "no \(kind)", sourceLocation: sourceLocation)
            }
            let inheritable = descriptors.filter(\.isInheritable).map { "\($0.name): \($0.target)" }
            #expect(inheritable == [], sourceLocation: sourceLocation)
        }

        @Test func `the daemon's descriptors are close-on-exec`() throws {
            let client = try RawClient(daemon)
            try client.subscribe("a", durable: "d")
            try client.post("a", "1")
            try expectCloseOnExec(daemon.process)
        }

        @Test func `a client's descriptors are close-on-exec`() async throws {
            try RawClient(daemon).subscribe("a", durable: "d")
            try RawClient(daemon).post("a", "1")
            let process = try ChildProcess(
                Programs.serviceGroupProgram, [daemon.socket, "waits", "1000", "1000"],
                environment: ["SWIFT_BACKTRACE": "enable=no"])
            _ = try await process.waitForLines(1)
            try expectCloseOnExec(process)
        }

        @Test func `notifyctl's descriptors are close-on-exec`() async throws {
            let process = try Notifyctl(daemon).start(["subscribe", "a"])
            try daemon.waitForSubscriptions(1)
            try expectCloseOnExec(process)
        }

        @Test(arguments: [[], ["--prefix"]])
        func `a command of 'work' inherits only standard input, output and error`(options: [String]) async throws {
            let process = try Notifyctl(daemon).start(
                ["work", "jobs.>", "--durable", "w"] + options + ["--", "sh", "-c", "ls /proc/self/fd | wc -l"])
            try daemon.waitForSubscriptions(1)
            try RawClient(daemon).post("jobs.a", "1")
            // The fourth descriptor is the folder that `ls` reads.
            #expect(try await process.waitForLines(1).first?.split(separator: " ").last == "4")
            try expectCloseOnExec(process)
            process.send(SIGTERM)
            #expect(try await process.waitForExit() == .status(0))
        }
    }
}
