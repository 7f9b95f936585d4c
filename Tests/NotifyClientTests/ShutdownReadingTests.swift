import NotifyWire
import ServiceLifecycle
import Testing

@testable import NotifyClient

/// Graceful shutdowns of a service that reads the log.
@Suite(.timeLimit(.minutes(25))) struct ShutdownReadingTests {
    /// Answers the next request for a position, for a log with the sequences 1 to 9.
    private static func answerFind(_ connection: FakeConnection) async throws {
        let find: Find = try await connection.expect()
        connection.send(Found(request: find.request, sequence: 1, last: 9))
    }

    /// Answers the next request for a page.
    ///
    /// - Returns: The request.
    @discardableResult
    private static func answerPage(
        _ sequences: [UInt64], through: UInt64, isEnd: Bool = false, _ connection: FakeConnection
    ) async throws -> ReadLog {
        let read: ReadLog = try await connection.expect()
        connection.send { buffer in
            LogPage(request: read.request, count: UInt32(sequences.count), isEnd: isEnd, through: through)
                .write(to: &buffer)
            for sequence in sequences { buffer.writeDelivery(sequence) }
        }
        return read
    }

    /// Answers the next request for a page once the client has ended it.
    ///
    /// - Returns: The request.
    private static func answerEndedRead(_ connection: FakeConnection) async throws -> ReadLog {
        let read: ReadLog = try await connection.expect()
        let end: EndRead = try await connection.expect()
        #expect(end.request == read.request)
        connection.send(LogPage(request: read.request, count: 0, isEnd: true, through: 0))
        return read
    }

    /// Runs a service with a client, shuts the service down once it has seen its first message, and returns the
    /// messages that the service has seen.
    private func shutDown(
        _ service:
            @escaping @Sendable (NotificationClient, _ saw: @Sendable (UInt64) async -> Void) async throws -> Void,
        daemon serve: (FakeDaemon, FakeConnection, _ shutDown: @escaping @Sendable () async -> Void) async throws ->
            Void
    ) async throws -> [UInt64] {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                let (first, rest) = (Inbox<UInt64>(), Inbox<UInt64>())
                // A shutdown ends the requests that wait for a connection, so the client connects before the shutdown.
                async let pong = client.ping()
                let connection = try await daemon.accept()
                try await connection.expectPing()
                _ = try await pong
                try await ClosureService.run {
                    try await service(client) { sequence in
                        guard sequence == 1 else { return rest.put(sequence) }
                        first.put(sequence)
                        // Continues once the shutdown has begun.
                        try? await gracefulShutdown()
                    }
                } test: { shutDown in
                    try await serve(daemon, connection) {
                        _ = try? await first.next()
                        await shutDown()
                    }
                }
                return [1] + rest.all()
            }
        }
    }

    @Test func `a read of the log continues to its end`() async throws {
        let seen = try await shutDown { client, saw in
            for try await case .message(let message) in try client.log("a.>") { await saw(message.sequence) }
        } daemon: { _, connection, shutDown in
            try await Self.answerFind(connection)
            try await Self.answerPage([1, 2], through: 2, connection)
            await shutDown()
            #expect(try await Self.answerPage([5], through: 5, connection).first == 3)
            try await Self.answerPage([7], through: 9, isEnd: true, connection)
        }
        #expect(seen == [1, 2, 5, 7])
    }

    @Test func `reads that begin during the shutdown are answered`() async throws {
        let seen = try await shutDown { client, saw in
            await saw(1)
            for try await case .message(let message) in try client.log("a.>") { await saw(message.sequence + 1) }
            await saw(try await client.administration.logSummary().names[0].totals.messages)
        } daemon: { _, connection, shutDown in
            await shutDown()
            try await Self.answerFind(connection)
            try await Self.answerPage([2], through: 9, isEnd: true, connection)
            try await Self.answerFind(connection)
            let summarize: SummarizeLog = try await connection.expect()
            connection.send(
                StoredNameEntry(
                    request: summarize.request, messages: 4, bytes: 1, first: 1, firstMicroseconds: 0, last: 4,
                    lastMicroseconds: 0, name: "a.b"))
            connection.send(ListEnd(request: summarize.request))
        }
        #expect(seen == [1, 3, 4])
    }

    @Test func `a read of the log without a connection ends with an error`() async throws {
        let seen = try await shutDown { client, saw in
            let error = await #expect(throws: NotifyError.self) {
                for try await case .message(let message) in try client.log("a.>") { await saw(message.sequence) }
            }
            #expect(error?.code == .cancelled && error?.message == NotifyError.shutDown.message)
        } daemon: { daemon, connection, shutDown in
            try await Self.answerFind(connection)
            try await Self.answerPage([1], through: 2, connection)
            try await daemon.stopListening()
            try await connection.close()
            await shutDown()
        }
        #expect(seen == [1])
    }

    @Test func `a sequence that follows the log ends`() async throws {
        let seen = try await shutDown { client, saw in
            let events = try client.log("a.>", follows: true)
            for try await case .message(let message) in events { await saw(message.sequence) }
        } daemon: { _, connection, shutDown in
            try await Self.answerFind(connection)
            try await Self.answerPage([1, 2], through: 2, connection)
            await shutDown()
            #expect(try await Self.answerEndedRead(connection).isWaiting)
        }
        #expect(seen == [1, 2])
    }

    @Test func `a subscription with a snapshot ends after the stored messages that have arrived`() async throws {
        let seen = try await shutDown { client, saw in
            try await client.withSubscription(to: "a.>", as: .volatile(from: .oldest)) { subscription in
                for try await case .message(let message) in subscription { await saw(message.sequence) }
            }
        } daemon: { _, connection, shutDown in
            try await Self.answerFind(connection)
            try await connection.acceptSubscription(after: 9)
            try await Self.answerPage([1, 2], through: 2, connection)
            await shutDown()
            #expect(try await Self.answerEndedRead(connection).first == 3)
            try await connection.expectDetach()
        }
        #expect(seen == [1, 2])
    }
}
