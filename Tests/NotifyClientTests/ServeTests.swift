import NIOCore
import NotifyWire
import ServiceLifecycle
import Testing

@testable import NotifyClient

/// Servers. The test acts as the daemon.
@Suite(.timeLimit(.minutes(25))) struct ServeTests {
    /// The daemon's side of a registered server.
    private struct Served: Sendable {
        let daemon: FakeDaemon
        let connection: FakeConnection

        func call(_ number: UInt64, _ payload: String = "") {
            Self.call(connection, number, payload)
        }

        static func call(_ connection: FakeConnection, _ number: UInt64, _ payload: String) {
            connection.send { buffer in
                let none = UnsafeRawBufferPointer(start: nil, count: 0)
                let stamp = Stamp(sequence: 0, timeMicroseconds: 5, uid: 1, gid: 2, pid: 3)
                Array("jobs.a".utf8).withUnsafeBytes { name in
                    Array(payload.utf8).withUnsafeBytes { payload in
                        ServiceCall(
                            call: number, server: 1, timeoutMilliseconds: 900, stamp: stamp,
                            parts: MessageParts(
                                name: name, object: none, messageID: none, headers: none, payload: payload)
                        ).append(to: &buffer)
                    }
                }
            }
        }

        /// The next frame, as text.
        func next() async throws -> String { try await Self.next(connection) }

        func expect(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
            let next = try await next()
            #expect(next == text, sourceLocation: sourceLocation)
        }

        static func next(_ connection: FakeConnection) async throws -> String {
            guard let frame = try await connection.next() else { return "the end" }
            guard frame.kind == .respond else { return "\(frame.kind)" }
            return try frame.withFrame { frame in
                let response = try Respond(frame)
                return "\(response.call) \(response.outcome): \(String(decoding: response.payload, as: UTF8.self))"
            }
        }
    }

    /// Runs a server in a task, and passes the daemon's side to `body`. `body` must end the server.
    private func serve(
        concurrency: Int = 4,
        handler: @escaping @Sendable (NotificationClient.Request) async throws -> NotificationClient.Response,
        _ body: (Served, Task<Void, any Error>) async throws -> Void
    ) async throws {
        try await FakeDaemon.run { daemon in
            let path = daemon.path
            let server = Task {
                try await withNotificationClient(configuration: .test(path)) { client in
                    try await client.serve("jobs.*", concurrency: concurrency, handler)
                }
            }
            let connection = try await daemon.accept()
            let serve: Serve = try await connection.expect()
            #expect(serve.patterns == ["jobs.*"] && serve.concurrency == UInt32(concurrency) && serve.server == 1)
            connection.send(Serving(request: serve.request, server: serve.server))
            do {
                try await body(Served(daemon: daemon, connection: connection), server)
            } catch {
                server.cancel()
                throw error
            }
            server.cancel()
            _ = await server.result
        }
    }

    @Test func `the handler gets the request, and its result is the response`() async throws {
        try await serve { request in
            #expect(request.name == "jobs.a" && request.uid == 1 && request.gid == 2 && request.pid == 3)
            #expect(request.timeMicroseconds == 5 && request.timeout == .milliseconds(900))
            return .init("re: \(request.text ?? "")")
        } _: { served, _ in
            served.call(7, "hello")
            try await served.expect("7 replied: re: hello")
        }
    }

    @Test func `an error of the handler decides the outcome`() async throws {
        struct Broken: Error, CustomStringConvertible { var description: String { "broken" } }
        try await serve { request in
            switch request.text {
            case "failed": throw NotificationClient.RequestError.failed("no such job")
            case "returned": throw NotificationClient.RequestError.giveBack
            default: throw Broken()
            }
        } _: { served, _ in
            served.call(1, "failed")
            try await served.expect("1 failed: no such job")
            served.call(2, "returned")
            try await served.expect("2 returned: ")
            served.call(3)
            try await served.expect("3 failed: broken")
        }
    }

    @Test func `the end of a call cancels its handler, which still responds`() async throws {
        let started = Inbox<String>()
        try await serve { request in
            started.put(request.text ?? "")
            try await Task.sleep(for: .seconds(3600))
            return ""
        } _: { served, _ in
            served.call(1, "a")
            served.call(2, "b")
            _ = try await (started.next(), started.next())
            served.connection.send(ServiceCallEnded(call: 2))
            try await served.expect("2 failed: CancellationError()")
        }
    }

    @Test func `a cancelled server gives back what no handler has, and waits for its handlers`() async throws {
        let started = Inbox<Void>()
        try await serve(concurrency: 1) { request in
            started.put(())
            try? await Task.sleep(for: .seconds(3600))
            return "late"
        } _: { served, server in
            served.call(1)
            try await started.next()
            server.cancel()
            try await served.expect("endServing")
            try await served.expect("1 replied: late")
            _ = await server.result
        }
    }

    @Test func `a call that crosses with the end of the server is given back`() async throws {
        let (started, ending) = (Inbox<Void>(), Inbox<Void>())
        try await serve(concurrency: 2) { request in
            started.put(())
            // A task of its own, which the end of the server does not cancel.
            try await Task { try await ending.next() }.value
            return "done"
        } _: { served, server in
            served.call(1)
            try await started.next()
            server.cancel()
            try await served.expect("endServing")
            served.call(2)
            try await served.expect("2 returned: ")
            ending.put(())
            try await served.expect("1 replied: done")
        }
    }

    @Test func `the server registers again after a lost connection, and old handlers do not respond`() async throws {
        let started = Inbox<String>()
        try await serve { request in
            started.put(request.text ?? "")
            if request.text == "old" { try? await Task.sleep(for: .seconds(3600)) }
            return .init(request.text ?? "")
        } _: { served, _ in
            served.call(1, "old")
            #expect(try await started.next() == "old")
            try await served.connection.close()
            let connection = try await served.daemon.accept()
            let serve: Serve = try await connection.expect()
            connection.send(Serving(request: serve.request, server: serve.server))
            Served.call(connection, 1, "new")
            #expect(try await Served.next(connection) == "1 replied: new")
        }
    }

    @Test(arguments: [false, true]) func `a refusal is thrown, at first and after a reconnect`(
        isReconnect: Bool
    ) async throws {
        try await FakeDaemon.run { daemon in
            let path = daemon.path
            let server = Task {
                try await withNotificationClient(configuration: .test(path)) { client in
                    try await client.serve("jobs.*") { _ in "" }
                }
            }
            var connection = try await daemon.accept()
            var serve: Serve = try await connection.expect()
            if isReconnect {
                connection.send(Serving(request: serve.request, server: serve.server))
                try await connection.close()
                connection = try await daemon.accept()
                serve = try await connection.expect()
            }
            connection.send(
                ErrorFrame(request: serve.request, code: .serviceHeld, detail: 42, message: "another user"))
            await #expect {
                try await server.value
            } throws: { error in
                let error = error as? NotifyError
                return error?.code == .serviceHeld && error?.detail == 42
            }
        }
    }

    @Test func `an invalid concurrency or pattern is refused by the client`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                for concurrency in [0, 16_385] {
                    await #expect {
                        try await client.serve("a", concurrency: concurrency) { _ in "" }
                    } throws: { ($0 as? NotifyError)?.code == .invalidArgument }
                }
                await #expect {
                    try await client.serve("a..b") { _ in "" }
                } throws: { ($0 as? NotifyError)?.code == .invalidPattern }
            }
        }
    }
}
