import Foundation
import NotifyClient
import Testing

@testable import notifyctl

extension IntegrationTests {
    /// A daemon that does not answer for a while, because it is suspended or killed.
    @Suite struct FrozenDaemonTests {
        @Test func `requests fail within their time limit, and later ones succeed`() async throws {
            let daemon = try await Daemon.start()
            var configuration = NotificationClient.Configuration(socketPath: daemon.socket)
            configuration.requestTimeout = .milliseconds(400)
            try await withNotificationClient(configuration: configuration) { client in
                try await client.post("a", "1", timeout: .seconds(60))
                daemon.process.send(SIGSTOP)
                try daemon.process.waitUntilStopped()
                let error = await #expect(throws: NotifyError.self) { try await client.post("a", "2") }
                #expect(error?.code == .outcomeUnknown)
                let other = await #expect(throws: NotifyError.self) {
                    try await client.post("a", "3", timeout: .milliseconds(10))
                }
                #expect(other?.code == .outcomeUnknown)
                await #expect(throws: NotifyError.self) { try await client.ping() }
                await #expect(throws: NotifyError.self) { try await client.subscribe(to: ["a"]) }
                daemon.process.send(SIGCONT)
                // The daemon has received the posts meanwhile.
                var sequence: UInt64 = 0
                while sequence == 0 {
                    sequence = (try? await client.post("a", "4").sequence) ?? 0
                }
                #expect(sequence >= 4)
            }
        }

        @Test func `a monitor continues after a request that was not answered`() async throws {
            let daemon = try await Daemon.start()
            var configuration = NotificationClient.Configuration(socketPath: daemon.socket)
            configuration.requestTimeout = .milliseconds(400)
            try await expectMonitorContinues(configuration, after: [.timedOut]) {
                daemon.process.send(SIGSTOP)
                try daemon.process.waitUntilStopped()
            } resume: {
                daemon.process.send(SIGCONT)
            }
        }

        @Test func `a monitor continues although the daemon is away for longer than a request waits`() async throws {
            let daemon = try await Daemon.start()
            var configuration = NotificationClient.Configuration(socketPath: daemon.socket)
            configuration.connectionWait = .milliseconds(400)
            try await expectMonitorContinues(configuration, after: [.notConnected, .connectionLost]) {
                try await daemon.kill()
            } resume: {
                try await daemon.start()
            }
        }

        /// Monitors posts while the daemon does not answer, and expects that a post is printed once it answers again.
        ///
        /// - Parameters:
        ///   - codes: The errors of requests meanwhile.
        ///   - interrupt: Makes the daemon stop answering.
        ///   - resume: Makes the daemon answer again.
        private func expectMonitorContinues(
            _ configuration: NotificationClient.Configuration, after codes: Set<NotifyError.Code>,
            interrupt: () async throws -> Void, resume: () async throws -> Void
        ) async throws {
            var configuration = configuration
            let reporter = ConnectionReporter()
            configuration.onConnectionChange = reporter.handler
            let pipe = Pipe()
            let printer = PostPrinter(
                patterns: [">"], json: false, times: .utc, limit: 1, reporter: reporter,
                output: pipe.fileHandleForWriting.fileDescriptor)
            try await withNotificationClient(configuration: configuration) { client in
                try await client.ping(timeout: .seconds(60))
                try await interrupt()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await printer.run(client, until: Interruption()) }
                    // The request of the monitor fails before the last of these pings.
                    for _ in 0..<3 {
                        let error = try await #require(throws: NotifyError.self) { try await client.ping() }
                        #expect(codes.contains(error.code))
                    }
                    try await resume()
                    group.addTask {
                        while !Task.isCancelled { _ = try? await client.post("a", "x") }
                    }
                    try await group.next()
                    group.cancelAll()
                }
            }
            try pipe.fileHandleForWriting.close()
            let line = try #require(try pipe.fileHandleForReading.readToEnd())
            expectText(String(decoding: line, as: UTF8.self), " a 1B durability=")
        }

        @Test func `top, monitor and --watch continue after a timeout or an error of the connection`() {
            let transient = NotifyError.Code.allCases.filter { NotifyError($0, "").isTransient }
            #expect(Set(transient) == [.connectionLost, .notConnected, .daemonClosing, .timedOut])
        }
    }
}
