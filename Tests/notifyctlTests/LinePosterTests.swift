import Foundation
import NotifyClient
import NotifyWire
import Synchronization
import TestSupport
import Testing
import WireTestSupport

@testable import notifyctl

/// `post --lines` with a daemon that greets, refuses some posts, and answers no others.
@Suite struct LinePosterTests {
    /// Counts the bytes that arrive after the greeting.
    private final class SilentDaemon: Sendable {
        static let postWindow: UInt32 = 512
        let path = NSTemporaryDirectory() + "notifyctl-silent-\(UUID().uuidString.prefix(8)).sock"
        private static let post = postFrame(1, name: Array("a".utf8), payload: Array("line".utf8), receipt: true)
        private let listener: Int32
        private let refusals: Int
        private let bytes = Mutex(0)

        /// The number of posts that have arrived. Exact only if all of them are posts of "line".
        var receivedPosts: Int { bytes.withLock { $0 } / Self.post.count }

        /// - Parameter refusals: The number of posts that are refused for a full disk.
        init(refusals: Int = 0) throws {
            self.refusals = refusals
            listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(result == 0 && listen(listener, 1) == 0)
            Thread.detachNewThread { self.serve() }
        }

        private func serve() {
            let connection = accept(listener, nil, nil)
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            guard recv(connection, &buffer, buffer.count, 0) > 0 else { return }
            let welcome = Welcome(
                version: Hello.currentVersion, uid: geteuid(), gid: getegid(), pid: 1, maximumPayloadBytes: 1 << 20,
                postWindow: Self.postWindow, maximumWindow: 1, maximumSubscriptions: 1, daemonInstance: .random(),
                clientInstance: .random(), daemonVersion: NotificationClient.version
            ).encoded
            _ = send(connection, welcome, welcome.count, 0)
            var refused = 0
            while case let count = recv(connection, &buffer, buffer.count, 0), count > 0 {
                bytes.withLock { $0 += count }
                while refused < min(receivedPosts, refusals) {
                    refused += 1
                    let refusal = ErrorFrame(request: UInt64(refused), code: .storageFailed, message: "full").encoded
                    _ = send(connection, refusal, refusal.count, 0)
                }
                if refusals > 0, receivedPosts > refusals { break }
            }
            close(connection)
        }

        deinit {
            shutdown(listener, Int32(SHUT_RDWR))
            close(listener)
            unlink(path)
        }
    }

    /// Posts lines that get no receipts.
    private func postSilently(
        _ lines: Int, to daemon: SilentDaemon, requestTimeout: Duration, retryTime: Duration?
    ) async throws -> String {
        let folder = try TemporaryFolder()
        let input = open(try folder.write(String(repeating: "line\n", count: lines), to: "lines"), O_RDONLY | O_CLOEXEC)
        defer { close(input) }
        var configuration = NotificationClient.Configuration()
        configuration.socketPath = daemon.path
        configuration.requestTimeout = requestTimeout
        let poster = LinePoster(
            template: try NotificationClient.OutgoingMessage(name: "a"), input: input,
            printer: ReceiptPrinter(name: "a", format: .nothing), retryTime: retryTime)
        let error = await #expect(throws: CommandFailure.self) { try await poster.run(configuration) }
        return try #require(error?.message)
    }

    @Test func `a line waits for its receipt for the time of --retry, but at least a second`() async throws {
        let daemon = try SilentDaemon()
        let message = try await postSilently(
            2, to: daemon, requestTimeout: .seconds(3600), retryTime: .milliseconds(10))
        #expect(message.hasPrefix("stopped at line 1: notifyd did not answer within 1 s"), "\(message)")
        #expect(message.hasSuffix("; posted 0 lines (0 stored), unknown for 2 (lines 1 to 2)"), "\(message)")
    }

    @Test func `after a time-out, no later line is posted`() async throws {
        let daemon = try SilentDaemon()
        let message = try await postSilently(60_000, to: daemon, requestTimeout: .seconds(2), retryTime: nil)
        // The lines of the window were sent, and later ones that waited in the client were not.
        #expect(message.contains("posted 0 lines (0 stored)"), "\(message)")
        #expect(message.contains("unknown for 512 (lines 1 to 512)"), "\(message)")
        #expect(message.contains("not posted (lines 513 to "), "\(message)")
        #expect(daemon.receivedPosts == Int(SilentDaemon.postWindow), "a ping may follow, but no post")
    }

    @Test func `a refused line is sent again alone, so that no later line can be posted before it`() async throws {
        let lines = 200
        let daemon = try SilentDaemon(refusals: lines)
        let message = try await postSilently(
            lines, to: daemon, requestTimeout: .seconds(3600), retryTime: .seconds(3600))
        #expect(
            message.contains("posted 0 lines (0 stored), 199 not posted (lines 2 to 200), unknown for 1 (line 1)"),
            "\(message)")
        #expect(daemon.receivedPosts == lines + 1, "a ping may follow, but no post")
    }

    /// Posts a line without a daemon.
    private func postWithoutDaemon(
        _ configuration: NotificationClient.Configuration, retryTime: Duration
    ) async throws -> CommandFailure? {
        let folder = try TemporaryFolder()
        let input = open(try folder.write("line\n", to: "lines"), O_RDONLY | O_CLOEXEC)
        defer { close(input) }
        var configuration = configuration
        configuration.socketPath = folder.file("n.sock")
        let poster = LinePoster(
            template: try NotificationClient.OutgoingMessage(name: "a"), input: input,
            printer: ReceiptPrinter(name: "a", format: .nothing), retryTime: retryTime)
        return await #expect(throws: CommandFailure.self) { try await poster.run(configuration) }
    }

    @Test func `a line waits for a connection for at most the time of --retry`() async throws {
        let failure = try await postWithoutDaemon(.init(), retryTime: .milliseconds(200))
        #expect(failure?.status == .noDaemon)
        let message = try #require(failure?.message)
        #expect(message.hasPrefix("stopped at line 1: timed out after 200 ms without a connection "), "\(message)")
        #expect(message.hasSuffix("; nothing was sent; posted 0 lines (0 stored), 1 not posted (line 1)"))
    }

    @Test func `without a daemon, a line is sent again until the time of --retry has passed`() async throws {
        var configuration = NotificationClient.Configuration()
        configuration.connectionWait = .milliseconds(50)
        let start = ContinuousClock.now
        let failure = try await postWithoutDaemon(configuration, retryTime: .milliseconds(300))
        #expect(ContinuousClock.now - start >= .milliseconds(290), "the clocks may differ a little")
        let message = try #require(failure?.message)
        #expect(message.hasPrefix("stopped at line 1: timed out after 50 ms without a connection "), "\(message)")
        #expect(message.hasSuffix("1 not posted (line 1)"), "\(message)")
    }
}
