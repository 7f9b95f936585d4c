import NotifyWire
import Testing

@testable import NotifyClient

/// Tests that create a durable subscription without receiving its messages.
@Suite(.timeLimit(.minutes(10))) struct DurableCreationTests {
    @Test func `a created subscription is not attached`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotifyClient(configuration: .test(daemon.path)) { client in
                async let served: Void = {
                    let connection = try await daemon.accept()
                    let subscribe = try await connection.acceptSubscription()
                    #expect(subscribe.durableName == "billing" && subscribe.patterns == ["a.>", "b"])
                    #expect(subscribe.object == "o" && subscribe.start == .oldest && subscribe.credit == 0)
                    try await connection.expectDetach()
                }()
                try await client.createDurableSubscription("billing", to: ["a.>", "b"], object: "o", from: .oldest)
                try await served
            }
        }
    }

    @Test func `a refusal is thrown`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotifyClient(configuration: .test(daemon.path)) { client in
                let creating = Task { try await client.createDurableSubscription("billing", to: ["a"]) }
                let connection = try await daemon.accept()
                let subscribe: Subscribe = try await connection.expect()
                connection.send(ErrorFrame(request: subscribe.request, code: .subscriptionMismatch, message: "other"))
                let error = await #expect(throws: NotifyError.self) { try await creating.value }
                #expect(error?.code == .subscriptionMismatch)
            }
        }
    }

    @Test func `a volatile subscription with a limit of zero is refused`() async throws {
        let client = NotifyClient(configuration: .test("/nowhere"))
        let error = await #expect(throws: NotifyError.self) { _ = try await client.subscribe(to: ["a"], limit: 0) }
        #expect(error?.code == .invalidArgument)
    }
}
