import Foundation
import NotifyClient
import NotifyWire
import Synchronization
import TestSupport
import Testing
import WireTestSupport

@testable import notifyctl

/// `post --lines` with a daemon that greets, refuses some posts, and answers no others.
@Suite(.timeLimit(.minutes(25))) struct LinePosterTests {
    /// Greets a client, counts its posts, and refuses the first ones.
    private final class SilentDaemon: Sendable {
        static let postWindow: UInt32 = 512
        let path = NSTemporaryDirectory() + "notifyctl-silent-\(UUID().uuidString.prefix(8)).sock"
        private static let post = postFrame(1, name: Array("a".utf8), payload: Array("line".utf8), receipt: true)
        private let listener: Int32
        private let refusals: Int
        private let state = Mutex(State())

        private struct State {
            var bytes = 0
            var waiters: [(posts: Int, continuation: CheckedContinuation<Void, Never>)] = []

            var posts: Int { bytes / SilentDaemon.post.count }
        }

        /// The number of posts that have arrived. Exact only if all of them are posts of "line".
        var receivedPosts: Int { state.withLock(\.posts) }

        /// Waits until this number of posts has arrived.
        func waitForPosts(_ count: Int) async {
            await withCheckedContinuation { continuation in
                let haveArrived = state.withLock { state in
                    if state.posts < count { state.waiters.append((count, continuation)) }
                    return state.posts >= count
                }
                if haveArrived { continuation.resume() }
            }
        }

        private func received(_ count: Int) {
            let over = state.withLock { state in
                state.bytes += count
                let posts = state.posts
                defer { state.waiters.removeAll { $0.posts <= posts } }
                return state.waiters.filter { $0.posts <= posts }
            }
            for waiter in over { waiter.continuation.resume() }
        }

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
                received(count)
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

    /// Posts lines on a manual clock, which only `body` advances until the command ends.
    ///
    /// - Returns: The status and the error with which the command ends.
    private func post(
        _ lines: Int, to socketPath: String, _ configuration: NotificationClient.Configuration = .init(),
        retryTime: Duration?, while body: (ManualClock) async -> Void
    ) async throws -> (status: notifyctl.ExitStatus, message: String) {
        let folder = try TemporaryFolder()
        let input = open(try folder.write(String(repeating: "line\n", count: lines), to: "lines"), O_RDONLY | O_CLOEXEC)
        defer { close(input) }
        let clock = ManualClock()
        var configuration = configuration
        configuration.socketPath = socketPath
        configuration.clock = ManualClientClock(clock: clock)
        // The times of later attempts to connect are random, so there are none.
        configuration.backoff = .seconds(86_400) ... .seconds(86_400)
        let poster = LinePoster(
            template: try NotificationClient.OutgoingMessage(name: "a"), input: input,
            printer: ReceiptPrinter(name: "a", format: .nothing), retryTime: retryTime, clock: clock)
        let posting = Task { [configuration] in try await poster.run(configuration) }
        await body(clock)
        let error = await #expect(throws: CommandFailure.self) { try await posting.value }
        // Ends the timers that are left.
        clock.runFreely()
        let failure = try #require(error)
        return (failure.status, try #require(failure.message))
    }

    /// Posts lines that get no receipts. Once `awaited` posts have arrived, time passes.
    private func postSilently(
        _ lines: Int, to daemon: SilentDaemon, awaited: Int, requestTimeout: Duration, retryTime: Duration?
    ) async throws -> String {
        var configuration = NotificationClient.Configuration()
        configuration.requestTimeout = requestTimeout
        return try await post(lines, to: daemon.path, configuration, retryTime: retryTime) { clock in
            await daemon.waitForPosts(awaited)
            clock.runFreely()
        }.message
    }

    @Test func `a line waits for its receipt for the time of --retry, but at least a second`() async throws {
        let daemon = try SilentDaemon()
        let message = try await postSilently(
            2, to: daemon, awaited: 2, requestTimeout: .seconds(3600), retryTime: .milliseconds(10))
        #expect(message.hasPrefix("stopped at line 1: notifyd did not answer within 1 s"), "\(message)")
        #expect(message.hasSuffix("; posted 0 lines (0 stored), unknown for 2 (lines 1 to 2)"), "\(message)")
    }

    @Test func `after a time-out, no later line is posted`() async throws {
        let daemon = try SilentDaemon()
        let window = Int(SilentDaemon.postWindow)
        let message = try await postSilently(
            60_000, to: daemon, awaited: window, requestTimeout: .seconds(2), retryTime: nil)
        // The lines of the window were sent, and later ones that waited in the client were not.
        #expect(message.contains("posted 0 lines (0 stored)"), "\(message)")
        #expect(message.contains("unknown for 512 (lines 1 to 512)"), "\(message)")
        #expect(message.contains("not posted (lines 513 to "), "\(message)")
        #expect(daemon.receivedPosts == window, "a ping may follow, but no post")
    }

    @Test func `a refused line is sent again alone, so that no later line can be posted before it`() async throws {
        let lines = 200
        let daemon = try SilentDaemon(refusals: lines)
        var configuration = NotificationClient.Configuration()
        configuration.requestTimeout = .seconds(3600)
        let message = try await post(lines, to: daemon.path, configuration, retryTime: .seconds(3600)) { clock in
            // The pause before the line is sent again.
            await clock.waitForSleeper(until: .milliseconds(100))
            #expect(daemon.receivedPosts == lines)
            clock.advance(to: .milliseconds(100))
        }.message
        #expect(
            message.contains("posted 0 lines (0 stored), 199 not posted (lines 2 to 200), unknown for 1 (line 1)"),
            "\(message)")
        #expect(daemon.receivedPosts == lines + 1, "a ping may follow, but no post")
    }

    /// Posts a line without a daemon.
    ///
    /// - Parameter times: The deadlines until which the command and its client sleep in turn, in milliseconds.
    private func postWithoutDaemon(
        _ configuration: NotificationClient.Configuration = .init(), retryTime: Duration, sleepingUntil times: [Int]
    ) async throws -> (status: notifyctl.ExitStatus, message: String) {
        let folder = try TemporaryFolder()
        return try await post(1, to: folder.file("n.sock"), configuration, retryTime: retryTime) { clock in
            for time in times {
                await clock.waitForSleeper(until: .milliseconds(time))
                clock.advance(to: .milliseconds(time))
            }
        }
    }

    @Test func `a line waits for a connection for at most the time of --retry`() async throws {
        let failure = try await postWithoutDaemon(retryTime: .milliseconds(200), sleepingUntil: [200])
        #expect(failure.status == .noDaemon)
        #expect(
            failure.message.hasPrefix("stopped at line 1: timed out after 200 ms without a connection "),
            "\(failure.message)")
        #expect(failure.message.hasSuffix("; nothing was sent; posted 0 lines (0 stored), 1 not posted (line 1)"))
    }

    @Test func `without a daemon, the command waits for a connection until the end of --retry's time`() async throws {
        var configuration = NotificationClient.Configuration()
        configuration.connectionWait = .milliseconds(50)
        // The line waits for a connection, the command pauses, and then waits until there is a connection.
        let failure = try await postWithoutDaemon(
            configuration, retryTime: .milliseconds(300), sleepingUntil: [50, 150, 250, 300])
        #expect(
            failure.message.hasPrefix("stopped at line 1: timed out after 50 ms without a connection "),
            "\(failure.message)")
        #expect(failure.message.hasSuffix("1 not posted (line 1)"), "\(failure.message)")
    }
}
