import Foundation
import Logging
import Metrics
import MetricsTestKit
import NotifySystem
import NotifyWire
import ServiceLifecycle
import Testing
import TestSupport

@testable import NotifyServer

@Suite(.timeLimit(.minutes(25))) struct ServerTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func server(
        _ environment: [String: String] = [:], socket: String? = nil,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance, onRunning: @escaping @Sendable (String) -> Void
    ) throws -> Server {
        let base = ["XDG_RUNTIME_DIR": folder.file("run"), "XDG_STATE_HOME": folder.file("state")]
        let context = context(user: geteuid(), process: getpid(), base.merging(environment) { $1 })
        // The paths are those of an unprivileged user even if the tests run as root.
        var user = context
        user.userID = max(context.userID, 1)
        let defaults = DefaultPaths(for: user)
        let options = CommandLineOptions(socket: socket, database: folder.file("n.db"))
        let sources = ConfigurationSources(options: options, context: user, defaults: defaults)
        return Server(
            configuration: try sources.load(), context: context, defaults: defaults,
            notifier: ServiceManagerNotifier(context: context),
            logger: Logger(label: "notifyd") { _ in SwiftLogNoOpLogHandler() }, metrics: metrics, onRunning: onRunning)
    }

    @Test func `a stopped server removes its socket`() async throws {
        let receiver = try DatagramReceiver(path: folder.file("notify"))
        let (running, announced) = AsyncStream<String>.makeStream()
        let server = try server(["NOTIFY_SOCKET": folder.file("notify")]) { announced.yield($0) }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let group = ServiceGroup(services: [server], logger: logger)
        let task = Task { try await group.run() }
        let path = try #require(await running.first { _ in true })
        #expect(path == folder.file("run/notifyd/notifyd.sock"))
        #expect(permissions(of: folder.file("run/notifyd")) == 0o700)
        #expect(permissions(of: path) == 0o600)
        #expect(try canConnect(to: path))
        #expect(receiver.next(beginningWith: "READY") == "READY=1\nSTATUS=listening on \(path)")
        await group.triggerGracefulShutdown()
        try await task.value
        #expect(receiver.next(beginningWith: "STOPPING=1\n") != nil)
        #expect(!exists(path))
    }

    @Test func `a metrics backend has the figures of the daemon once the daemon has stopped`() async throws {
        let backend = TestMetrics()
        let (running, announced) = AsyncStream<String>.makeStream()
        let server = try server(metrics: backend) { announced.yield($0) }
        let group = ServiceGroup(services: [server], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let task = Task { try await group.run() }
        _ = await running.first { _ in true }
        await group.triggerGracefulShutdown()
        try await task.value
        #expect(backend.meters.count + backend.counters.count == Statistic.allCases.count)
        // The first update is at the start, the last one at the end.
        #expect(try backend.expectMeter("notifyd_memory_limit_bytes").values.count >= 2)
        #expect(try backend.expectCounter("notifyd_commits").totalValue > 0)
    }

    @Test func `a socket that can't be made ends the server with the reason`() async throws {
        let server = try server(socket: folder.file("none/n.sock")) { _ in }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let error = await #expect(throws: ServerError.self) {
            try await ServiceGroup(services: [server], logger: logger).run()
        }
        #expect(error?.code == .directoryUnusable)
    }
}
