import NotifyClient
import Testing

/// Values with which a program tests its code without a daemon. The file imports the library as a program does.
@Suite struct FakeValueTests {
    private protocol Poster {
        func post(_ name: String) async throws(NotifyError) -> NotificationClient.Receipt
    }

    private struct FakePoster: Poster {
        func post(_ name: String) async throws(NotifyError) -> NotificationClient.Receipt {
            if name.isEmpty { throw NotifyError(.invalidName, "a name must not be empty") }
            return NotificationClient.Receipt(sequence: 7, subscribers: 1, stored: 2, durability: .stored)
        }
    }

    @Test func `receipts and errors can be made`() async throws {
        #expect(try await FakePoster().post("a").sequence == 7)
        let error = await #expect(throws: NotifyError.self) { try await FakePoster().post("") }
        #expect(error?.code == .invalidName && error?.cause == nil && error?.isRefusal == false)
    }

    @Test func `messages can be made and decoded`() throws {
        let message = try NotificationClient.Message(
            sequence: 9, name: "orders.created", payload: "{\"n\":1}".utf8, object: "shop", headers: ["k": "v"],
            timeMicroseconds: 5, uid: 1, gid: 2, pid: 3, delivery: 4, isRedelivered: true)
        #expect(message.sequence == 9 && message.name == "orders.created" && message.object == "shop")
        #expect(message.headers["k"] == "v" && message.timeMicroseconds == 5)
        #expect(message.uid == 1 && message.gid == 2 && message.pid == 3)
        #expect(message.delivery == 4 && message.isRedelivered)
        #expect(try message.decode(as: [String: Int].self) == ["n": 1])
        #expect(message.text == "{\"n\":1}")
        message.acknowledge()
        #expect(throws: NotifyError.self) { try NotificationClient.Message(sequence: 1, name: "a..b") }
    }

    @Test func `gaps can be made`() {
        let gap = NotificationClient.Gap(reason: .deleted, missed: 2, sequences: 1...2)
        #expect(gap.missed == 2 && !gap.isUpperBound)
    }

    @Test func `asynchronous sequences can be sent to another task`() {
        func check(_: (some Sendable).Type) {}
        check(NotificationClient.Subscription.Messages.self)
        check(NotificationClient.StoredMessages.self)
        func check(_ subscription: NotificationClient.Subscription, _ pipeline: NotificationClient.PostPipeline) {
            let _: any Sendable & AsyncSequence = subscription.messages(as: Int.self)
            let _: any Sendable & AsyncSequence = subscription.batches
            let _: any Sendable & AsyncSequence = pipeline.results
        }
    }
}
