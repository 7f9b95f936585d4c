import WireTestSupport
import Foundation
import NotifyWire
import Testing
import TestSupport

extension IntegrationTests {
    /// notifyd under a service manager: status notifications, watchdog, socket activation, and termination.
    @Suite struct ServiceManagerTests {
        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
        }

        @Test(arguments: [SIGTERM, SIGINT])
        func `the daemon notifies the service manager when ready and when stopping`(signal: Int32) async throws {
            let daemon = try await Daemon.start()
            #expect(daemon.manager.messages.current.contains("STATUS=listening on \(daemon.socket)"))
            #expect(!daemon.manager.messages.current.contains("STOPPING=1"))
            daemon.process.send(signal)
            #expect(try await daemon.process.waitForExit() == .status(0))
            _ = try await daemon.manager.messages.wait("STOPPING=1") { $0.contains("STOPPING=1") ? true : nil }
            #expect(!FileAttributes.exists(daemon.socket))
        }

        @Test func `watchdog notifications are sent while the daemon works`() async throws {
            let daemon = try await Daemon.start(environment: ["WATCHDOG_USEC": "100000"])
            _ = try await daemon.manager.messages.wait("watchdog notifications") { messages in
                messages.count { $0 == "WATCHDOG=1" } >= 5 ? true : nil
            }
            daemon.process.send(SIGSTOP)
            try daemon.process.waitUntilStopped()
            try await daemon.manager.waitForSentMessages()
            let countBefore = daemon.manager.messages.current.count
            daemon.process.send(SIGCONT)
            _ = try await daemon.manager.messages.wait("another watchdog notification") {
                $0.count > countBefore ? true : nil
            }
        }

        @Test func `no watchdog notifications are sent without a watchdog`() async throws {
            let daemon = try await Daemon.start()
            try RawClient(daemon).ping()
            try await daemon.stop()
            #expect(!daemon.manager.messages.current.contains("WATCHDOG=1"))
        }

        @Test func `a passed socket is served and not removed`() async throws {
            // As with systemd, the socket listens before the daemon starts. Early clients wait in the socket's backlog.
            let path = folder.file("passed.sock")
            let listener = try Listener(path: path)
            let early = RawClient(try RawSocket(path: path))
            let run = try NotifydRun(
                ["--socket", folder.file("unused.sock"), "--database", folder.file("n.db")],
                launcher: NotifydRun.passingSocket, managerPath: folder.file("manager"),
                input: .descriptor(listener.descriptor))
            #expect(try await run.ready() == path)
            try early.greet()
            try early.post("through.it", durability: .stored)
            #expect(!FileAttributes.exists(folder.file("unused.sock")))
            #expect(try await run.stop() == .status(0))
            #expect(FileAttributes(path)?.kind == S_IFSOCK)
        }

        @Test func `a closed descriptor in place of the passed socket is refused`() async throws {
            let launcher = ["sh", "-c", "LISTEN_FDS=1 LISTEN_PID=$$ exec \"$@\" 3<&-", "sh"]
            let run = try NotifydRun(
                ["--database", folder.file("n.db")], launcher: launcher, managerPath: folder.file("manager"))
            expectText(try await run.refusal(), "systemd")
        }

        @Test func `a passed descriptor must be a listening socket`() async throws {
            let run = try NotifydRun(
                ["--database", folder.file("n.db")], launcher: NotifydRun.passingSocket,
                managerPath: folder.file("manager"))
            expectText(try await run.refusal(), "the socket that systemd passed is not a Unix socket")
        }
    }
}
