import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// A batch makes a limited number of copies, so that posts do not wait long for the batch.
struct UnsavedRedeliveriesTests {
    private let host = TestHost()
    private var unsaved: UnsavedRedeliveries { host.core.broker.durables.unsavedRedeliveries }

    private func post(_ count: Int) {
        let poster = host.connect(uid: 1001)
        for _ in 0..<count { poster.post("jobs.a", receipt: false) }
        host.run()
    }

    private var copiesPerBatch: [Int] {
        host.store.batches.map { batch in
            batch.changes.count { if case .keep = $0 { true } else { false } }
        }
    }

    @Test func `a connection that rejects many messages waits for batches of a limited size`() {
        let client = host.connect()
        client.subscribe(
            1, ["jobs.>"], durable: "jobs", window: 16_384,
            settings: DurableSettingChanges(retryDelays: [3_600_000_000]))
        host.run()
        _ = client.take()
        post(10_000)
        let sequences = client.takeMessages().map(\.sequence)
        #expect(sequences.count == 10_000)
        for sequence in sequences { client.reject(1, sequence) }
        host.run()
        host.advance(.milliseconds(60))
        host.run()
        #expect(copiesPerBatch.reduce(0, +) == 10_000 && copiesPerBatch.allSatisfy { $0 <= 4_096 })
        #expect(client.isRead && unsaved.rows == 0)
        #expect(unsaved.bytes == 0)
        #expect(host.durable("jobs")?.redeliveryCount == 10_000)
    }

    @Test func `failures of many messages at their deadline are written in batches of limited size`() {
        for number in 0..<20 {
            let client = host.connect()
            client.subscribe(
                1, ["jobs.>"], durable: "jobs\(number)", window: 1_000,
                settings: DurableSettingChanges(deadlineMicroseconds: 1_000_000, retryDelays: [3_600_000_000]))
        }
        host.run()
        post(1_000)
        host.advance(.seconds(2))
        host.run()
        for _ in 0..<100 {
            host.advance(.milliseconds(60))
            host.run()
        }
        #expect(copiesPerBatch.reduce(0, +) == 20_000 && copiesPerBatch.allSatisfy { $0 <= 4_096 + 512 })
        #expect(
            unsaved.rows == 0
                && unsaved.bytes == 0)
    }

    @Test func `rows whose batch fails still count as unsaved`() {
        let client = host.connect()
        client.subscribe(1, ["jobs.>"], durable: "jobs")
        host.run()
        post(3)
        for message in client.takeMessages() { client.reject(1, message.sequence) }
        host.runTicks()
        host.advance(.milliseconds(60))
        host.runTicks()
        host.work(failingWith: StorageFailure(kind: .inputOutput, message: "no"))
        #expect(unsaved.rows == 3)
        host.advance(.seconds(5))
        host.run()
        #expect(
            unsaved.rows == 0
                && unsaved.bytes == 0)
    }
}
