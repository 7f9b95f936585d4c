import NotifyClient
import ServiceLifecycle
import TestSupport
import Testing

/// The snippets of the article "A job queue", compiled verbatim. A test compares them with the article.
@Suite struct JobQueueArticleTests {
    private struct Image: Decodable {}
    private struct ServiceBusy: Error {}

    private func snippets(
        resize: @escaping @Sendable (Image) async throws -> Void,
        hasSpace: @escaping @Sendable () async throws -> Bool,
        isResized: @escaping @Sendable (NotificationClient.Message) async throws -> Bool
    ) async throws {
        try await withNotificationClient { client in
            // snippet
            try await client.administration.createDurableSubscription(
                "resize", to: ["images.uploaded"], sharing: .group)
            // end
            // snippet
            let queue = NotificationClient.SubscriptionKind.durable("resize", sharing: .group)
            try await client.work(on: "images.uploaded", as: queue, parallel: 8) { job in
                let image = try job.decode(as: Image.self)
                try await resize(image)
            }
            // end
            // snippet
            try await client.work(on: "images.uploaded", as: queue, parallel: 8) { job in
                guard try await hasSpace() else {
                    // This is not the fault of the job: it does not count as a failure.
                    throw NotificationClient.JobError.giveBack(after: .seconds(60))
                }
                guard job.payload.count < 1_000_000 else {
                    // It can never succeed: a dead letter at once.
                    throw NotificationClient.JobError.deadLetter("the image is too large")
                }
                do {
                    try await resize(try job.decode(as: Image.self))
                } catch is ServiceBusy {
                    throw NotificationClient.JobError.retry(
                        "the service was busy at attempt \(job.delivery)", after: .seconds(5))
                }
            }
            // end
            // snippet
            try await client.withSubscription(to: "images.uploaded", as: queue) { subscription in
                for try await job in subscription.messages() {
                    job.extendDeadline(.seconds(300))
                    if try await isResized(job) { job.acknowledge() } else { job.reject(reason: "not resized") }
                }
            }
            // end
            // snippet
            let settings = NotificationClient.DurableSettings(
                deadline: .seconds(120), retryDelays: [.seconds(1), .seconds(10), .seconds(60)], maximumDeliveries: 3)
            try await client.administration.createDurableSubscription(
                "thumbnails", to: ["images.*"], sharing: .group, settings: settings)
            try await client.administration.configureDurableSubscription("thumbnails", .init(maximumInFlight: 100))
            // end
        }
        // snippet
        struct Resizing: Service {
            let client: NotificationClient

            func run() async throws {
                try await client.work(on: "images.uploaded", as: .durable("resize", sharing: .group), parallel: 8) {
                    job in
                    print("resize \(job.text ?? "")")
                }
            }
        }
        // end
        _ = Resizing.self
    }

    @Test func `the article shows the compiled code`() throws {
        let shown = try ArticleCode.shown(in: "Sources/NotifyClient/NotifyClient.docc/JobQueue.md")
        #expect(shown.count > 0)
        #expect(try shown == ArticleCode.compiled())
    }
}
