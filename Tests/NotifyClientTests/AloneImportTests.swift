// Like a program that uses NotificationClient, this file imports no other module of the package.
import NotifyClient
import Testing

/// Uses the interface of NotificationClient without another module of the package, with member import visibility and in
/// every isolation.
@Suite(.timeLimit(.minutes(25))) struct AloneImportTests {
    private static let deliveries: [FakeDaemon.Delivery] = [
        .init(name: "orders.created", payload: "1"), .init(name: "orders.paid", payload: "2"),
    ]

    @Test func `names are compared, matched and printed without another import`() async throws {
        try await FakeDaemon.deliver(Self.deliveries) { client in
            var seen: [String] = []
            try await client.subscribe(to: "orders.>", limit: 2, onGap: { _ in }) { message in
                switch message.name {
                case "orders.created": seen.append("created: \(message.name)")
                case let name where name.hasPrefix("orders."): seen.append(name)
                default: break
                }
                #expect((message.name == "orders.created") == (message.sequence == 1))
            }
            #expect(seen == ["created: orders.created", "orders.paid"])
        }
        let outgoing = try NotificationClient.OutgoingMessage(name: "orders.created")
        #expect(outgoing.name == "orders.created")
    }

    @Test func `patterns can be arguments or an array`() async throws {
        let patterns = ["orders.created", "orders.paid"]
        try await FakeDaemon.deliver(Self.deliveries) { client in
            let count = try await client.withSubscription(to: patterns, limit: 2) { subscription in
                try await subscription.messages().reduce(0) { count, _ in count + 1 }
            }
            #expect(count == 2)
        }
        try await FakeDaemon.deliver(Self.deliveries) { client in
            let first = try await client.withSubscription(to: "orders.created", "orders.paid") { subscription in
                try await subscription.messages().first { _ in true }
            }
            #expect(first?.name == "orders.created")
        }
        try await FakeDaemon.deliver(Self.deliveries) { client in
            var count = 0
            try await client.subscribe(to: patterns, limit: 2, onGap: { _ in }) { _ in count += 1 }
            #expect(count == 2)
        }
    }

    @Test func `closures can use the caller's actor`() async throws {
        let model = await Model()
        try await model.follow()
        #expect(await model.names == ["orders.created", "orders.paid"])
        let actor = Collector()
        try await actor.follow()
        #expect(await actor.lines == ["gap", "orders.created", "orders.paid"])
    }

    /// Not `Sendable`, so the compiler refuses every use outside the isolation of the log's owner.
    private final class Log {
        var lines: [String] = []
    }

    @MainActor private final class Model {
        private let log = Log()
        private(set) var gaps = 0
        var names: [String] { log.lines }

        func follow() async throws {
            try await FakeDaemon.deliver(AloneImportTests.deliveries, gap: 1) { client in
                try await client.subscribe(to: "orders.>", limit: 2, onGap: { _ in gaps += 1 }) { message in
                    MainActor.assertIsolated()
                    log.lines.append(message.name)
                }
            }
            log.lines = []
            try await FakeDaemon.deliver(AloneImportTests.deliveries, gap: 1) { client in
                try await client.withSubscription(to: "orders.>", limit: 2) { subscription in
                    for try await message in subscription.messages(onGap: { _ in self.gaps += 1 }) {
                        log.lines.append(message.name)
                    }
                }
            }
            #expect(gaps == 2)
        }
    }

    private actor Collector {
        private let log = Log()
        var lines: [String] { log.lines }

        func follow() async throws {
            try await FakeDaemon.deliver(AloneImportTests.deliveries, gap: 1) { client in
                try await client.subscribe(
                    to: "orders.>", as: .durable("log"), limit: 2, onGap: { _ in log.lines.append("gap") }
                ) { message in
                    self.assertIsolated()
                    log.lines.append(message.name)
                }
            }
        }
    }
}
