import Foundation
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// No program that one of ours starts inherits a descriptor.
    @Suite struct CloseOnExecTests {
        private let daemon: Daemon

        init() async throws {
            daemon = try await Daemon.start()
        }

        /// The open descriptors of a process after standard error that its children would inherit, with their targets.
        private func inheritable(_ process: ChildProcess) throws -> [String] {
            let folder = "/proc/\(process.pid)"
            return try FileManager.default.contentsOfDirectory(atPath: folder + "/fd").compactMap { name in
                guard let number = Int(name), number > 2,
                    // Some descriptors, such as that of a connection, may be closed meanwhile.
                    let info = try? String(contentsOfFile: "\(folder)/fdinfo/\(name)", encoding: .utf8),
                    let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/fd/\(name)"),
                    let line = info.split(separator: "\n").first(where: { $0.hasPrefix("flags:") }),
                    let text = line.split(separator: "\t").last, let flags = Int(text, radix: 8)
                else { return nil }
                return flags & 0o2_000_000 == 0 ? "\(name): \(target)" : nil
            }
        }

        @Test func `the daemon's descriptors are close-on-exec`() throws {
            let client = try RawClient(daemon)
            try client.subscribe("a", durable: "d")
            try client.post("a", "1")
            #expect(try inheritable(daemon.process) == [])
        }

        @Test func `a client's descriptors are close-on-exec`() async throws {
            try RawClient(daemon).subscribe("a", durable: "d")
            try RawClient(daemon).post("a", "1")
            let process = try ChildProcess(
                Programs.serviceGroupProgram, [daemon.socket, "waits", "1000", "1000"],
                environment: ["SWIFT_BACKTRACE": "enable=no"])
            _ = try await process.waitForLines(1)
            #expect(try inheritable(process) == [])
        }

        @Test func `notifyctl's descriptors are close-on-exec`() async throws {
            let process = try Notifyctl(daemon).start(["subscribe", "a"])
            try daemon.waitForSubscriptions(1)
            #expect(try inheritable(process) == [])
        }

        @Test(arguments: [[], ["--prefix"]])
        func `a command of work inherits standard input, output and error alone`(options: [String]) async throws {
            let process = try Notifyctl(daemon).start(
                ["work", "jobs.>", "--durable", "w"] + options + ["--", "sh", "-c", "ls /proc/self/fd | wc -l"])
            try daemon.waitForSubscriptions(1)
            try RawClient(daemon).post("jobs.a", "1")
            // The fourth descriptor is that of the folder that `ls` reads.
            #expect(try await process.waitForLines(1).first?.split(separator: " ").last == "4")
            #expect(try inheritable(process) == [])
            process.send(SIGTERM)
            #expect(try await process.waitForExit() == .status(0))
        }
    }
}
