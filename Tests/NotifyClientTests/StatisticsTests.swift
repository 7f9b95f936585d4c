import Dispatch
import NotifyWire
import Testing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(25))) struct StatisticsTests {
    /// Reads statistics on a queue that a test can suspend.
    private actor Reader {
        private final class Executor: SerialExecutor {
            let queue = DispatchQueue(label: "statistics")

            func enqueue(_ job: consuming ExecutorJob) {
                let job = UnownedJob(job)
                queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
            }
        }

        private let executor = Executor()

        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        func read(_ client: NotificationClient) async throws -> NotificationClient.Administration.Statistics {
            try await client.administration.statistics()
        }

        /// Suspends the queue once the running code of the actor has ended.
        nonisolated func suspend() async {
            let queue = executor.queue
            await withCheckedContinuation { continuation in
                queue.async {
                    queue.suspend()
                    continuation.resume()
                }
            }
        }

        nonisolated func resume() { executor.queue.resume() }
    }

    @Test func `counters and version are of one daemon, although the client reconnects to another one`() async throws {
        try await FakeDaemon.run { daemon in
            let versions = Inbox<String>()
            var configuration = NotificationClient.Configuration.test(daemon.path)
            configuration.onConnectionChange = { change in
                if case .connected(let version) = change { versions.put(version) }
            }
            try await withNotificationClient(configuration: configuration) { client in
                let reader = Reader()
                async let read = reader.read(client)
                let first = try await daemon.accept()
                let request: StatisticsRequest = try await first.expect()
                await reader.suspend()
                daemon.version = "new"
                first.send(StatisticsReport(request: request.request, counters: [.init(name: "connections", value: 1)]))
                try await first.close()
                let second = try await daemon.accept()
                async let repeated: Void = {
                    let request: StatisticsRequest = try await second.expect()
                    second.send(
                        StatisticsReport(request: request.request, counters: [.init(name: "connections", value: 2)]))
                }()
                #expect(try await [versions.next(), versions.next()] == ["fake", "new"])
                reader.resume()
                let statistics = try await read
                #expect(statistics.version == "new" && statistics["connections"] == 2)
                try await repeated
            }
        }
    }
}
