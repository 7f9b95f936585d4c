import Foundation
import Logging
import NotifyClient
import ServiceLifecycle
import TestSupport
import Testing
import UnixSignals

/// The snippets of the article "Getting started", compiled verbatim. A test compares them with the article. Snippets
/// that use a `client` are enclosed in `withNotificationClient`.
@Suite struct TutorialTests {
    private func bill(_ order: Order) async throws {}

    private func connect() async throws {
        // snippet
        try await withNotificationClient { client in
            let receipt = try await client.post("greetings", "hello")
            print("posted as \(receipt.sequence) to \(receipt.subscribers) subscribers")
        }
        // end
    }

    private func configure() async throws {
        // snippet
        var settings = NotificationClient.Configuration(socketPath: "/run/notifyd/notifyd.sock")
        settings.connectionWait = .seconds(60)
        settings.requestTimeout = .seconds(10)
        try await withNotificationClient(configuration: settings, logger: Logger(label: "orders")) { client in
            print(try await client.post("greetings", "hello", timeout: .seconds(2)).sequence)
        }
        // end
    }

    // snippet
    struct Order: Codable, Sendable {
        var number: Int
        var item: String
    }
    // end

    private func post() async throws {
        try await withNotificationClient { client in
            // snippet
            try await client.post("greetings", "hello")
            try await client.post("scans.new", Data([0x25, 0x50, 0x44, 0x46]))
            try await client.post(
                "orders.created", json: Order(number: 42, item: "tea"), object: "shop-1", headers: ["trace": "abc"])
            // end
            // snippet
            try await client.post("orders.paid", json: Order(number: 42, item: "tea"), durability: .synced)
            // end
        }
    }

    private func subscribe() async throws {
        try await withNotificationClient { client in
            // snippet
            try await client.withSubscription(to: "orders.>") { subscription in
                for try await event in subscription {
                    switch event {
                    case .message(let message): print(message.name, message.text ?? "")
                    case .gap(let gap): print(gap)
                    }
                }
            }
            // end
            // snippet
            let patterns = ["orders.*", "stock.>"]
            try await client.withSubscription(to: patterns, limit: 10) { subscription in
                for try await message in subscription.messages() {
                    switch message.name {
                    case "orders.created": print("new: \(message.text ?? "")")
                    case "orders.paid": print("paid: \(message.text ?? "")")
                    default: print(message.name)
                    }
                }
            }
            // end
            // snippet
            try await client.subscribe(to: "orders.*", as: .durable("billing"), onGap: { print($0) }) { message in
                print("bill \(message.text ?? "")")
            }
            // end
            // snippet
            try await client.administration.createDurableSubscription("audit", to: ["orders.>"], from: .oldest)
            let lastMinutes = NotificationClient.SubscriptionKind.volatile(from: .age(.seconds(600)))
            try await client.subscribe(to: "orders.>", as: lastMinutes, onGap: { print($0) }) { message in
                print(message.date, message.text ?? "")
            }
            // end
        }
    }

    private func decode() async throws {
        try await withNotificationClient { client in
            // snippet
            try await client.withSubscription(to: "orders.*", as: .durable("billing")) { subscription in
                for try await order in subscription.messages(as: Order.self) {
                    do {
                        try await bill(order.value)
                        order.acknowledge()
                    } catch let error as NotifyError where error.code == .coding {
                        order.deadLetter(reason: error.message)
                    }
                }
            }
            // end
        }
    }

    private func read() async throws {
        try await withNotificationClient { client in
            // snippet
            for try await event in try client.log("orders.>", from: .age(.seconds(3600)), limit: 100) {
                switch event {
                case .message(let message): print(message.date, message.sequence, message.text ?? "")
                case .gap(let gap): print(gap)
                }
            }
            // end
            // snippet
            for name in try await client.administration.logSummary(["orders.>"], limit: 10).names {
                print(name.name, name.totals.messages, name.totals.bytes)
            }
            // end
        }
    }

    private func manage() async throws {
        try await withNotificationClient { client in
            // snippet
            for subscription in try await client.administration.durableSubscriptions() {
                let pending = subscription.pending.map { "\($0.count.messages) pending" } ?? "not counted yet"
                print(subscription.name, subscription.cursor, pending, "\(subscription.lost.messages) lost")
            }
            let billing = try await client.administration.durableSubscription("billing")
            print(billing.created as Any, billing.lastAttachment as Any)
            // end
            // snippet
            try await client.administration.resetDurableSubscription("billing", to: .age(.seconds(7200)))
            try await client.administration.editDurableSubscription("billing", patterns: ["orders.>", "refunds.>"])
            // end
            // snippet
            let purged = try await client.administration.purge(["metrics.>"], before: .age(.seconds(86_400)))
            print("deleted \(purged.messages) messages, \(purged.bytes) bytes")
            try await client.administration.backUp(to: "/var/backups/notifyd.db", replacingFile: true)
            // end
            // snippet
            let check = try await client.administration.check(full: true) { print("\($0) %") }
            if !check.isSound { print(check.damagedMessages, "damaged messages", check.problems.map(\.text)) }
            // end
        }
    }

    private func keepValues() async throws {
        try await withNotificationClient { client in
            // snippet
            try await client.setValue("running", for: "jobs.backup")
            print(try await client.value(of: "jobs.backup")?.text ?? "no value")
            for try await event in try client.watch(["jobs.>"]) { print(event) }
            // end
            // snippet
            let receipt = try await client.setValue("copying", for: "jobs.backup")
            try await client.setValue("done", for: "jobs.backup", ifSequence: receipt.sequence)
            try await client.clear("jobs.backup")
            // end
            // snippet
            let presence = try await client.announce("services.backup", "running", will: .init("died"))
            try await presence.withdraw()
            // end
        }
    }

    private func answer() async throws {
        try await withNotificationClient { client in
            // snippet
            try await client.serve("text.*") { request in .init(request.text?.uppercased() ?? "") }
            // end
            // snippet
            print(try await client.request("text.upper", "one book", timeout: .seconds(2)).text ?? "")
            // end
        }
    }

    private func serve() async throws {
        // snippet
        struct Billing: Service {
            let client: NotificationClient

            func run() async throws {
                try await client.subscribe(to: "orders.*", as: .durable("invoices"), onGap: { print($0) }) { message in
                    print("bill \(message.text ?? "")")
                }
            }
        }
        // end
        // snippet
        let client = NotificationClient()
        var configuration = ServiceGroupConfiguration(
            services: [client, Billing(client: client)], gracefulShutdownSignals: [.sigterm],
            cancellationSignals: [.sigint], logger: Logger(label: "billing"))
        configuration.maximumGracefulShutdownDuration = .seconds(30)
        configuration.maximumCancellationDuration = .seconds(15)
        try await ServiceGroup(configuration: configuration).run()
        // end
    }

    private func fail() async throws {
        // snippet
        try await withNotificationClient { client in
            do {
                try await client.post("orders.created", json: Order(number: 43, item: "coffee"))
            } catch let error as NotifyError where error.code == .outcomeUnknown {
                // The daemon may have the message. Posting it again may post it twice.
            }
        }
        // end
    }

    @Test func `the article shows the compiled code`() throws {
        let shown = try ArticleCode.shown(in: "Sources/NotifyClient/NotifyClient.docc/GettingStarted.md")
        #expect(shown.count > 0)
        #expect(try shown == ArticleCode.compiled())
    }
}
