import NotifyCenter
import TestSupport
import Testing

@testable import NotifyClient

/// The time limits of single calls. The daemon greets the client, and then answers only pings and detach requests.
@Suite(.timeLimit(.minutes(25))) struct TimeLimitTests {
    struct Request: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let code: NotifyError.Code
        let make: @Sendable (NotificationClient, Duration) async throws -> Void

        init(
            _ description: String, _ code: NotifyError.Code,
            _ make: @escaping @Sendable (NotificationClient, Duration) async throws -> Void
        ) {
            (testDescription, self.code, self.make) = (description, code, make)
        }
    }

    static let requests = [
        Request("post", .outcomeUnknown) { try await $0.post("a", timeout: $1) },
        Request("pipeline", .outcomeUnknown) { client, limit in
            let pipeline = client.postPipeline(timeout: limit)
            try await pipeline.post(.init(name: "a"))
            pipeline.finish()
            for try await result in pipeline.results { _ = try result.get() }
        },
        Request("subscribe", .outcomeUnknown) { _ = try await $0.subscribe(to: ["a"], timeout: $1) },
        Request("subscribe with a closure", .outcomeUnknown) {
            try await $0.subscribe(to: "a", timeout: $1, onGap: { _ in }) { _ in }
        },
        Request("subscribe from the oldest", .timedOut) {
            _ = try await $0.subscribe(to: ["a"], as: .volatile(from: .oldest), timeout: $1)
        },
        Request("withSubscription", .outcomeUnknown) { try await $0.withSubscription(to: "a", timeout: $1) { _ in } },
        Request("work", .outcomeUnknown) { try await $0.work(on: "a", as: .durable("d"), timeout: $1) { _ in } },
        Request("log", .timedOut) { for try await _ in try $0.log("a", timeout: $1) {} },
        Request("follow", .timedOut) { for try await _ in try $0.log("a", follows: true, timeout: $1) {} },
        Request("statistics", .timedOut) { _ = try await $0.administration(timeout: $1).statistics() },
        Request("purge", .outcomeUnknown) { _ = try await $0.administration(timeout: $1).purge(["a"]) },
        Request("purge before a time", .timedOut) {
            _ = try await $0.administration(timeout: $1).purge(["a"], before: .age(.seconds(1)))
        },
        Request("log summary", .timedOut) { _ = try await $0.administration(timeout: $1).logSummary() },
        Request("dead letters", .timedOut) {
            for try await _ in try await $0.administration(timeout: $1).deadLetters() {}
        },
    ]

    @Test(arguments: requests) func `a call ends at its own time limit`(_ request: Request) async throws {
        try await FakeDaemon.run { daemon in
            var configuration = NotificationClient.Configuration.test(daemon.path)
            // The limit of the client is longer than that of the call.
            configuration.requestTimeout = .seconds(3600)
            // When the client stops, it must not wait for the answers that the daemon does not send.
            configuration.closingTimeout = .zero
            try await expectTimeout(request, request.code, configuration, isConnected: true)
        }
    }

    @Test(arguments: requests) func `a call without a connection ends at its time limit`(_ request: Request)
        async throws
    {
        try await FakeDaemon.run(listening: false) { daemon in
            var configuration = NotificationClient.Configuration.test(daemon.path)
            configuration.connectionWait = .seconds(3600)
            // The client does not try to connect again before the limit, so the next timer is that of the call.
            configuration.backoff = .seconds(3600) ... .seconds(3600)
            try await expectTimeout(request, .timedOut, configuration, isConnected: false)
        }
    }

    /// Makes a call on a stopped clock. The call must set a timer for its time limit, and end when the clock reaches
    /// the limit.
    private func expectTimeout(
        _ request: Request, _ code: NotifyError.Code, _ configuration: NotificationClient.Configuration,
        isConnected: Bool
    ) async throws {
        let (clock, journal) = (SteppingClock(), Journal())
        var configuration = configuration
        configuration.clock = clock
        try await withNotificationClient(configuration: configuration) { client in
            // After the pong there is a connection, so the request is sent at once.
            if isConnected { try await client.ping() }
            let limit = Duration.milliseconds(50)
            let end = clock.now + limit
            let call = Task {
                defer { journal.note("ended") }
                try await request.make(client, limit)
            }
            try await clock.waitForTimer(at: end)
            clock.advance(by: limit - .nanoseconds(1))
            #expect(journal.entries.isEmpty)
            clock.advance(by: .nanoseconds(1))
            let error = await #expect(throws: NotifyError.self) { try await call.value }
            #expect(error?.code == code)
            // On a stopped clock, bytes that wait for the end of the flush interval would never be written.
            clock.runFreely()
        }
    }
}
