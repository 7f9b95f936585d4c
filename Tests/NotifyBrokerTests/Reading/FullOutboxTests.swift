import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Committed messages for live readers whose connections have no room for all of them.
struct FullOutboxTests {
    /// A run is a sixteenth of this, and is too large to be copied into the outbox's own buffer.
    private static let outboxBytes = 24_500
    private let host: TestHost

    init() {
        var configuration = BrokerConfiguration()
        configuration.durableOutboxBytes = Self.outboxBytes
        host = TestHost(configuration)
    }

    private func attach(sharing: DurableSharing) -> Client {
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d", window: 10_000, sharing: sharing)
        host.run()
        _ = client.take()
        return client
    }

    /// Posts messages that are committed in one block.
    private func post(_ count: Int) -> [UInt64] {
        let poster = host.connect()
        let commits = host.store.batches.count { !$0.blocks.isEmpty }
        for _ in 0..<count { poster.post("a", payload: Array(repeating: 1, count: 80), .stored, receipt: false) }
        host.run()
        #expect(host.store.batches.count { !$0.blocks.isEmpty } == commits + 1)
        return host.store.messages.suffix(count).map(\.sequence)
    }

    /// Makes a message wait for its redelivery, so that further messages are handled one by one.
    private func rejectOne(_ clients: Client...) {
        _ = post(1)
        for client in clients {
            for message in client.takeMessages() { client.reject(1, message.sequence, delay: .seconds(1_000)) }
        }
        host.advance(.milliseconds(60))
        host.run()
        #expect(host.durable("d")?.redeliveryCount == 1)
    }

    private func isFull(_ client: Client) -> Bool { !host.core.broker.hasRoom(client.id.slot) }

    private var messageBytes: Int { host.store.messages.last?.frame.count ?? 1 }
    /// The number of messages that fill an outbox.
    private var outboxMessages: Int { (Self.outboxBytes - 1) / messageBytes + 1 }
    /// The number of messages of a whole run.
    private var runMessages: Int { (Self.outboxBytes / 16 - 1) / messageBytes + 1 }

    @Test(arguments: [false, true])
    func `the rest of a commit that does not fit into the outbox follows when the outbox has drained`(
        _ areTakenOneByOne: Bool
    ) {
        let client = attach(sharing: .exclusive)
        if areTakenOneByOne { rejectOne(client) }
        client.stopTaking()
        let sequences = post(300)
        if areTakenOneByOne {
            #expect(host.durable("d")?.unacknowledged == outboxMessages)
            #expect(runMessages > 1 && outboxMessages % runMessages != 0, "a run is split")
        } else {
            #expect(host.durable("d")?.unacknowledged == 16 * runMessages)
        }
        #expect(host.reader("d")?.isLive == false)
        client.makeRoom()
        host.run()
        #expect(client.takeMessages().map(\.sequence) == sequences)
        #expect(host.reader("d")?.isLive == true)
        #expect(post(10) == client.takeMessages().map(\.sequence))
    }

    @Test(arguments: [false, true])
    func `the rest of a run goes to another member that has room`(_ areTakenOneByOne: Bool) {
        let (full, other) = (attach(sharing: .group), attach(sharing: .group))
        if areTakenOneByOne { rejectOne(full, other) }
        full.stopTaking()
        var (sequences, early): ([UInt64], [UInt64]) = ([], [])
        for _ in 0..<10 where !isFull(full) {
            // Only the other member has room for all its messages.
            sequences += post(70)
            early += other.takeMessages().map(\.sequence)
        }
        #expect(isFull(full))
        #expect(host.reader("d")?.isLive == true, "the other member had room for the rest")
        full.makeRoom()
        host.run()
        let late = full.takeMessages().map(\.sequence)
        #expect(other.takeMessages().isEmpty)
        #expect(early == early.sorted() && late == late.sorted())
        #expect((early + late).sorted() == sequences)
        #expect((late.last ?? .max) < (sequences.last ?? 0))
        _ = post(100)
        #expect(!full.takeMessages().isEmpty, "the member takes turns again")
    }

    @Test(arguments: [false, true])
    func `the rest of a commit follows when one of two full members has drained`(_ areTakenOneByOne: Bool) {
        let (full, other) = (attach(sharing: .group), attach(sharing: .group))
        if areTakenOneByOne { rejectOne(full, other) }
        for client in [full, other] { client.stopTaking() }
        let sequences = post(500)
        #expect(host.reader("d")?.isLive == false)
        #expect(isFull(full) && isFull(other))
        other.makeRoom()
        host.run()
        #expect(host.reader("d")?.isLive == true)
        let rest = other.takeMessages().map(\.sequence)
        full.makeRoom()
        host.run()
        let held = full.takeMessages().map(\.sequence)
        #expect(rest == rest.sorted() && held == held.sorted() && held.count < rest.count)
        #expect((rest + held).sorted() == sequences && other.takeMessages().isEmpty)
    }
}
