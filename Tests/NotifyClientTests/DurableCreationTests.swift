import NotifyWire
import Testing

@testable import NotifyClient

/// Creating a durable subscription without receiving its messages.
@Suite(.timeLimit(.minutes(25))) struct DurableCreationTests {
    @Test func `a created subscription is not attached`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let served: Void = {
                    let connection = try await daemon.accept()
                    for existed in [false, true] {
                        let subscribe: Subscribe = try await connection.expect()
                        #expect(subscribe.durableName == "billing" && subscribe.patterns == ["a.>", "b"])
                        #expect(subscribe.object == "o" && subscribe.start == .oldest && subscribe.creation == .only)
                        connection.send(
                            DurableDescription(
                                DurableEntry(
                                    request: subscribe.request, uid: 1000, durableName: "billing",
                                    patterns: ["a.>", "b"]),
                                settings: .init(defaultsFor: .exclusive), existed: existed))
                    }
                }()
                for existed in [false, true] {
                    let details = try await client.administration.createDurableSubscription(
                        "billing", to: ["a.>", "b"], object: "o", from: .oldest)
                    #expect(details.existed == existed)
                }
                try await served
            }
        }
    }

    @Test func `a refusal is thrown`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                let creating = Task { try await client.administration.createDurableSubscription("billing", to: ["a"]) }
                let connection = try await daemon.accept()
                let subscribe: Subscribe = try await connection.expect()
                connection.send(ErrorFrame(request: subscribe.request, code: .subscriptionMismatch, message: "other"))
                let error = await #expect(throws: NotifyError.self) { try await creating.value }
                #expect(error?.code == .subscriptionMismatch)
            }
        }
    }
}
