import NotifyWire
import ServiceLifecycle
import Testing

@testable import NotifyClient

/// Graceful shutdowns of a service that uses a pipeline. The client is connected.
@Suite(.timeLimit(.minutes(25))) struct PipelineShutdownTests {
    private func shutDown(
        capacity: Int,
        _ service:
            @escaping @Sendable (NotificationClient.PostPipeline, NotificationClient.OutgoingMessage) async throws ->
            Void,
        daemon serve: (FakeConnection, _ shutDown: @escaping @Sendable () async -> Void) async throws -> Void
    ) async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                let message = try NotificationClient.OutgoingMessage(name: "a")
                try await ClosureService.run {
                    try await service(client.postPipeline(capacity: capacity), message)
                } test: { shutDown in
                    try await serve(try await daemon.accept(), shutDown)
                }
            }
        }
    }

    @Test func `the outcomes end if no post is pending`() async throws {
        try await shutDown(capacity: 1) { pipeline, _ in
            for try await _ in pipeline.results {}
            for try await _ in pipeline.batches {}
        } daemon: { _, shutDown in
            await shutDown()
        }
    }

    @Test func `the sequence of outcomes ends after the outcomes of pending posts`() async throws {
        let sequences = Inbox<UInt64>()
        try await shutDown(capacity: 2) { pipeline, message in
            try await pipeline.post(contentsOf: [message, message])
            try? await gracefulShutdown()
            for try await result in pipeline.results { sequences.put(try result.get().sequence) }
        } daemon: { connection, shutDown in
            let first = try await connection.expectPost()
            connection.sendReceipt(first.request, sequence: 7)
            let second = try await connection.expectPost()
            await shutDown()
            connection.sendReceipt(second.request, sequence: 8)
        }
        #expect(sequences.all() == [7, 8])
    }

    @Test func `a post that waits for room fails`() async throws {
        try await shutDown(capacity: 1) { pipeline, message in
            try await pipeline.post(message)
            for _ in 0..<2 {
                let error = await #expect(throws: NotifyError.self) { try await pipeline.post(message) }
                #expect(error?.code == .cancelled)
            }
            // Reading the outcome of the first post makes room.
            var results = pipeline.results.makeAsyncIterator()
            #expect(try await results.next()?.get().sequence == 7)
            try await pipeline.post(message)
            #expect(try await results.next()?.get().sequence == 8)
            #expect(try await results.next() == nil)
        } daemon: { connection, shutDown in
            let first = try await connection.expectPost()
            await shutDown()
            connection.sendReceipt(first.request, sequence: 7)
            connection.sendReceipt(try await connection.expectPost().request, sequence: 8)
        }
    }
}
