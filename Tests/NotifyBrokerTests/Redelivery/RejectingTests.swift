import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Rejections and deadlines of messages that a client does not acknowledge.
struct RejectingTests: JobsTests {
    let host = TestHost()

    @Test func `a rejected message is delivered again after each delay, with the number of the delivery`() throws {
        let client = attach(DurableSettingChanges(retryDelays: [1_000_000, 10_000_000]))
        post("one", "two")
        let messages = client.takeMessages()
        #expect(messages.map(\.text) == ["one", "two"] && messages.allSatisfy { $0.delivery == 1 })
        client.acknowledge(1, messages[1].sequence...messages[1].sequence)
        client.reject(1, messages[0].sequence)
        host.run()
        for (delay, delivery) in [(1.0, 2), (10, 3), (10, 4)] as [(Double, UInt32)] {
            advance(.seconds(delay) - .milliseconds(100))
            #expect(client.takeMessages().isEmpty)
            advance(.milliseconds(200))
            let again = client.takeMessages()
            #expect(again.map(\.text) == ["one"] && again.map(\.delivery) == [delivery] && again[0].isRedelivery)
            client.reject(1, messages[0].sequence)
            host.run()
        }
        advance(.seconds(11))
        client.acknowledge(1, messages[0].sequence...messages[0].sequence)
        advance(.seconds(1))
        #expect(host.durable("jobs")?.position ?? 0 >= messages[1].sequence)
        #expect(
            host.store.copies.values.allSatisfy { $0.isEmpty } && host.durable("jobs")?.redeliveryCount == 0)
    }

    @Test func `the cursor passes a rejected message, whose failure is in the log within 50 ms`() throws {
        let client = attach()
        post("one", "two")
        let messages = client.takeMessages()
        client.reject(1, messages[0].sequence, reason: "no")
        client.acknowledge(1, messages[1].sequence...messages[1].sequence)
        host.runTicks()
        host.advance(.milliseconds(50))
        host.run()
        let record = try #require(host.store.subscription(named: "jobs"))
        #expect(record.progress.cursor >= messages[1].sequence && record.progress.acknowledged.isEmpty)
        let copy = try #require(host.store.copies[record.id]?[messages[0].sequence])
        #expect(copy.row.failures == 1 && copy.reason == "no" && !copy.row.isDead)
    }

    @Test func `a message that is given back is delivered again without a failure`() throws {
        let client = attach()
        post("one")
        let message = try #require(client.takeMessages().first)
        client.reject(1, message.sequence, .returned, delay: .zero)
        advance(.milliseconds(60))
        let again = try #require(client.takeMessages().first)
        #expect(again.delivery == 1 && again.isRedelivery)
    }

    @Test func `the delay of a rejection overrides the delays of the settings`() throws {
        let client = attach()
        post("one")
        let message = try #require(client.takeMessages().first)
        client.reject(1, message.sequence, delay: .seconds(100))
        advance(.seconds(99))
        #expect(client.takeMessages().isEmpty)
        advance(.seconds(2))
        #expect(client.takeMessages().map(\.delivery) == [2])
    }

    @Test func `a late acknowledgement counts, and a late rejection does not`()
        throws
    {
        let client = attach(DurableSettingChanges(deadlineMicroseconds: 1_000_000, retryDelays: [5_000_000]))
        post("one")
        let message = try #require(client.takeMessages().first)
        advance(.milliseconds(1_100))
        #expect(host.durable("jobs")?.unacknowledged == 0)
        client.acknowledge(1, message.sequence...message.sequence)
        advance(.seconds(10))
        #expect(client.takeMessages().isEmpty, "the message was not delivered to another client")
        #expect(host.durable("jobs")?.redeliveryCount == 0)
        post("two")
        let second = try #require(client.takeMessages().first)
        advance(.milliseconds(1_100))
        client.reject(1, second.sequence, .dead)
        advance(.seconds(6))
        #expect(client.takeMessages().map(\.delivery) == [2], "a late rejection is ignored")
    }

    @Test func `a range that follows a rejection does not acknowledge the rejected message`() throws {
        let client = attach()
        post("one", "two")
        let messages = client.takeMessages()
        client.reject(1, messages[0].sequence)
        client.acknowledge(1, 0...messages[1].sequence)
        advance(.seconds(2))
        #expect(client.takeMessages().map(\.delivery) == [2])
    }

    @Test func `extending postpones the deadline`() throws {
        let client = attach(DurableSettingChanges(deadlineMicroseconds: 1_000_000, retryDelays: [0]))
        post("one", "two")
        let messages = client.takeMessages()
        for _ in 0..<5 {
            advance(.milliseconds(600))
            client.extend(1, messages[0].sequence)
            host.run()
        }
        let again = client.takeMessages()
        #expect(again.allSatisfy { $0.text == "two" } && !again.isEmpty)
        client.extend(1, messages[0].sequence, by: .seconds(60))
        advance(.seconds(59))
        #expect(client.takeMessages().allSatisfy { $0.text == "two" })
        client.acknowledge(1, messages[0].sequence...messages[0].sequence)
        advance(.seconds(60))
        #expect(client.takeMessages().allSatisfy { $0.text == "two" })
    }

    @Test func `answers for messages that were not delivered are refused`() throws {
        let client = attach()
        client.reject(1, 5)
        client.reject(2, 5)
        client.extend(2, 5)
        host.run()
        #expect(
            client.takeErrors().map(\.code)
                == [
                    ErrorCode.notDelivered, .unknownSubscription, .unknownSubscription,
                ].map(\.rawValue))
    }

    @Test func `after a failed commit, rejections wait for the next batch`() throws {
        let client = attach()
        post("one")
        let message = try #require(client.takeMessages().first)
        client.reject(1, message.sequence, delay: .zero, reason: "why")
        host.runTicks()
        host.advance(.milliseconds(60))
        host.runTicks()
        host.work(failingWith: StorageFailure(kind: .full, message: "no room"))
        host.runTicks()
        #expect(host.store.copies.isEmpty && client.takeMessages().isEmpty)
        advance(.seconds(5))
        #expect(host.store.copies.values.flatMap(\.values).map(\.reason) == ["why"])
        #expect(client.takeMessages().map(\.delivery) == [2])
    }

    @Test func `after a crash, the recorded failures count, and messages in flight are delivered again`() throws {
        let client = attach(DurableSettingChanges(retryDelays: [2_000_000]))
        post("one", "two")
        let messages = client.takeMessages()
        client.reject(1, messages[0].sequence)
        advance(.milliseconds(60))
        let restarted = TestHost(store: host.store, at: .seconds(1_000))
        let second = restarted.connect()
        second.subscribe(1, ["jobs.>"], durable: "jobs")
        restarted.run()
        #expect(second.takeMessages().map(\.text) == ["two"])
        restarted.advance(.seconds(3))
        restarted.run()
        let again = second.takeMessages()
        #expect(again.map(\.text) == ["one"] && again.map(\.delivery) == [2])
    }

    @Test func `a deadline that is earlier than the delay of another message is kept`() throws {
        let client = attach(DurableSettingChanges(deadlineMicroseconds: 1_000_000, retryDelays: [100_000_000]))
        post("one")
        client.reject(1, try #require(client.takeMessages().first).sequence)
        advance(.seconds(2))
        post("two")
        let second = try #require(client.takeMessages().first)
        advance(.milliseconds(1_100))
        #expect(host.durable("jobs")?.failures(of: second.sequence) == 1)
    }

    @Test func `a rejection of an earlier delivery does not count for a later one`() throws {
        let client = attach(DurableSettingChanges(deadlineMicroseconds: 1_000_000, retryDelays: [0]))
        post("one")
        let sequence = try #require(client.takeMessages().first).sequence
        advance(.milliseconds(1_100))
        advance(.milliseconds(60))
        #expect(client.takeMessages().map(\.delivery) == [2])
        for (delivery, failures) in [(1, 1), (3, 1), (2, 2)] as [(UInt32, UInt32)] {
            client.reject(1, sequence, delay: .seconds(10), delivery: delivery)
            host.run()
            #expect(host.durable("jobs")?.failures(of: sequence) == failures)
        }
        advance(.seconds(11))
        #expect(client.takeMessages().map(\.delivery) == [3])
        client.reject(1, sequence, delay: .seconds(10))
        host.run()
        #expect(host.durable("jobs")?.failures(of: sequence) == 3, "without a number, it is for the latest delivery")
    }
}
