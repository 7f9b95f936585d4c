import NIOCore
import NotifyWire
import Testing

@testable import NotifyClient

/// Requests to servers. The test acts as the daemon.
@Suite(.timeLimit(.minutes(25))) struct RequestTests {
    private struct ReceivedAsk {
        var request: UInt64
        var name: String
        var text: String
        var milliseconds: UInt32
        var headers: [UInt8]
    }

    private static func ask(_ connection: FakeConnection) async throws -> ReceivedAsk {
        let frame = try #require(try await connection.next())
        try #require(frame.kind == .ask)
        return try frame.withFrame { frame in
            let ask = try Ask(frame)
            return ReceivedAsk(
                request: ask.request, name: String(decoding: ask.parts.name, as: UTF8.self),
                text: String(decoding: ask.parts.payload, as: UTF8.self), milliseconds: ask.timeoutMilliseconds,
                headers: Array(ask.parts.headers))
        }
    }

    /// Runs a request against a fake daemon.
    private func request(
        timeout: Duration = .seconds(5),
        _ answer: @escaping @Sendable (FakeConnection, UInt64) async throws -> Void
    ) async throws -> Result<NotificationClient.Reply, NotifyError> {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let result: Result<NotificationClient.Reply, NotifyError> = {
                    do throws(NotifyError) {
                        return .success(try await client.request("jobs.a", "hi", timeout: timeout))
                    } catch {
                        return .failure(error)
                    }
                }()
                let connection = try await daemon.accept()
                let ask = try await Self.ask(connection)
                #expect(ask.name == "jobs.a" && ask.text == "hi")
                try await answer(connection, ask.request)
                return await result
            }
        }
    }

    @Test func `the reply has the payload, the headers and the ids of the server`() async throws {
        let headers = try HeaderList.encode([("k", "v")])
        let reply = try await request { connection, request in
            connection.send(
                ServiceReply(
                    request: request, uid: 1, gid: 2, pid: 3, headers: ByteBuffer(bytes: headers),
                    payload: ByteBuffer(string: "done")))
        }.get()
        #expect(reply.text == "done" && reply.headers["k"] == "v")
        #expect((reply.uid, reply.gid, reply.pid) == (1, 2, 3))
    }

    @Test(arguments: [
        (ErrorCode.noResponders, NotifyError.Code.noResponders), (.serverGone, .serverGone),
        (.timedOut, .requestTimedOut), (.requestFailed, .requestFailed), (.limitReached, .limitReached),
    ])
    func `an error of the daemon is thrown with its code`(sent: ErrorCode, code: NotifyError.Code) async throws {
        let result = try await request { connection, request in
            connection.send(ErrorFrame(request: request, code: sent, message: "the reason"))
        }
        guard case .failure(let error) = result else {
            Issue.record("no error")
            return
        }
        #expect(error.code == code && error.message == "the reason" && error.isRefusal)
    }

    @Test func `the outcome is unknown if the connection is lost`() async throws {
        let result = try await request { connection, _ in try await connection.close() }
        guard case .failure(let error) = result else {
            Issue.record("no error")
            return
        }
        #expect(error.code == .outcomeUnknown)
    }

    @Test func `the cancellation of the task cancels the request`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                let task = Task { try await client.request("jobs.a", timeout: .milliseconds(2_500)) }
                let connection = try await daemon.accept()
                let ask = try await Self.ask(connection)
                #expect(ask.milliseconds == 2_500)
                task.cancel()
                let cancel: CancelAsk = try await connection.expect()
                #expect(cancel.request == ask.request)
                await #expect { try await task.value } throws: { ($0 as? NotifyError)?.code == .cancelled }
                connection.send(ErrorFrame(request: ask.request, code: .requestCancelled, message: ""))
                try await client.ping()
            }
        }
    }

    @Test func `invalid requests are refused by the client`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                func code(_ name: String, _ timeout: Duration) async -> NotifyError.Code? {
                    do {
                        _ = try await client.request(name, timeout: timeout)
                        return nil
                    } catch {
                        return error.code
                    }
                }
                #expect(await code("a..b", .seconds(1)) == .invalidName)
                #expect(await code("a", .zero) == .invalidArgument)
                #expect(await code("a", .seconds(3600) + .nanoseconds(1)) == .invalidArgument)
            }
        }
    }
}
