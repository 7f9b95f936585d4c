import Foundation
import NotifySystem
import NotifyWire
import SystemPackage
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// Connections in the backlog of the listening socket, and errors of `accept`.
    @Suite struct AcceptingTests {
        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
        }

        // MARK: The queue

        @Test func `connecting clients wait for a stopped daemon`() async throws {
            let daemon = try await Daemon.start()
            daemon.process.send(SIGSTOP)
            try daemon.process.waitUntilStopped()
            let clients = try (0..<Self.clients).map { _ in try RawSocket(connectingAtOnceTo: daemon.socket) }
            daemon.process.send(SIGCONT)
            for client in clients { try RawClient(client).greet() }
        }

        @Test func `the backlog of a socket that a service manager passes is not shortened`() async throws {
            let path = folder.file("passed.sock")
            let listener = try Listener(path: path, backlog: SOMAXCONN)
            let run = try NotifydRun(
                ["--database", folder.file("n.db")], launcher: NotifydRun.passingSocket,
                managerPath: folder.file("manager"), input: .descriptor(listener.descriptor))
            try await run.ready()
            run.process.send(SIGSTOP)
            try run.process.waitUntilStopped()
            let clients = try (0..<Self.clients).map { _ in try RawSocket(connectingAtOnceTo: path) }
            run.process.send(SIGCONT)
            for client in clients { try RawClient(client).greet() }
            #expect(try await run.stop() == .status(0))
        }

        @Test(.enabled(if: Requirements.canTrace))
        func `notifyctl waits while the listen backlog is full`() async throws {
            let path = folder.file("full.sock")
            let listener = try Listener(path: path, backlog: 1)
            let waiting = try listener.fill(path)
            let ping = try ChildProcess(
                "strace",
                ["-D", "-f", "-e", "trace=connect", "-e", "signal=none", Programs.notifyctl, "--socket", path, "ping"])
            _ = try await ping.standardError.wait("an attempt") { $0.text.contains("EAGAIN") ? true : nil }
            let run = try NotifydRun(
                ["--database", folder.file("n.db")], launcher: NotifydRun.passingSocket,
                managerPath: folder.file("manager"), input: .descriptor(listener.descriptor))
            try await run.ready()
            #expect(try await ping.waitForExit() == .status(0), "\(ping.standardError.current)")
            #expect(waiting.count > 1)
            #expect(try await run.stop() == .status(0))
        }

        @Test func `notifyctl gives up if the listen backlog stays full`() async throws {
            let path = folder.file("full.sock")
            let listener = try Listener(path: path, backlog: 1)
            let waiting = try listener.fill(path)
            let begin = ContinuousClock.now
            let result = try await Notifyctl(socket: path).impatient.run("post", "a", "b")
            #expect(ContinuousClock.now - begin >= .seconds(5))
            #expect(result.status == .status(69))
            expectText(result.errors, "connection backlog")
            expectText(result.errors, "nothing was sent")
            #expect(waiting.count > 1)
        }

        /// More connections than SwiftNIO's default backlog, unless the kernel's limit is lower.
        private static let clients: Int = {
            let text = (try? String(contentsOfFile: "/proc/sys/net/core/somaxconn", encoding: .utf8)) ?? ""
            return min(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 128, 500)
        }()

        // MARK: Errors

        @Test(
            .enabled(if: Requirements.canTrace),
            arguments: ["EPERM", "EPROTO", "ENOMEM", "EMFILE", "ENFILE", "ECONNABORTED", "ENOBUFS", "EIO"])
        func `accepting resumes after an error`(error: String) async throws {
            let run = try start(failingWith: error, when: "1..3")
            let path = try await run.ready()
            for _ in 0..<3 { try RawClient(path: path).ping() }
            let log = run.process.standardError.current.text
            #expect(log.split(separator: "\n").count { $0.contains("cannot accept connections") } == 1, "\(log)")
            #expect(try await run.stop() == .status(0))
        }

        @Test(.enabled(if: Requirements.canTrace))
        func `a shutdown ends the pause after an accept error`() async throws {
            let run = try start(failingWith: "EPERM", when: "1+")
            let client = try RawSocket(path: try await run.ready())
            _ = try await run.process.standardError.wait("a warning") {
                $0.text.contains("cannot accept connections") ? $0 : nil
            }
            #expect(try await run.stop() == .status(0))
            #expect(throws: (any Error).self) { try RawClient(client).greet() }
        }

        @Test(.enabled(if: Requirements.canTrace))
        func `an unusable listening socket ends the daemon with an error`() async throws {
            let run = try start(failingWith: "EINVAL", when: "5+")
            let path = try await run.ready()
            let client = try RawClient(path: path)
            try client.post("kept", durability: .stored)
            // Each connection causes at least one call of `accept`.
            let others = (0..<5).map { _ in try? RawSocket(connectingAtOnceTo: path) }
            #expect(try client.waitForEnd().contains { if case .closing = $0 { true } else { false } })
            #expect(try await run.process.waitForExit() == .status(1))
            let errors = try await run.process.standardError.wait("the end of errors") { $0.isAtEnd ? $0 : nil }
            expectText(errors.text, "notifyd: the socket \(path) can no longer accept connections: restart notifyd")
            #expect(!FileAttributes.exists(path))
            #expect(others.count == 5)

            // The next start shows that the daemon shut down cleanly.
            let again = try NotifydRun(
                ["--socket", path, "--database", folder.file("n.db")], managerPath: folder.file("manager"))
            try await again.ready()
            #expect(!again.process.standardError.current.text.contains("not clean"))
            #expect(try await again.stop() == .status(0))
        }

        /// Starts a daemon under strace, which makes the selected `accept4` calls fail with the error.
        private func start(failingWith error: String, when calls: String) throws -> NotifydRun {
            try NotifydRun(
                ["--socket", folder.file("socket"), "--database", folder.file("n.db")],
                launcher: [
                    "strace", "-D", "-f", "-o", folder.file("strace"), "-e", "trace=accept4", "-e",
                    "inject=accept4:error=\(error):when=\(calls)",
                ], managerPath: folder.file("manager"))
        }
    }
}

extension Listener {
    /// Connects clients until the backlog is full.
    fileprivate func fill(_ path: String) throws -> [RawSocket] {
        var clients: [RawSocket] = []
        while true {
            do {
                clients.append(try RawSocket(connectingAtOnceTo: path))
            } catch Errno.resourceTemporarilyUnavailable {
                return clients
            }
        }
    }
}

extension RawSocket {
    /// Connects, or throws `EAGAIN` if the backlog is full.
    fileprivate convenience init(connectingAtOnceTo path: String) throws {
        let descriptor = try Self.unconnected()
        try self.init(adopting: descriptor)
        let code = Self.connect(descriptor, to: path)
        guard code == 0 else { throw Errno(rawValue: code) }
    }
}
