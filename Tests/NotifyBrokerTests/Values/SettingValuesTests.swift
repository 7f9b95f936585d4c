import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

struct SettingValuesTests {
    let host = TestHost()

    @Test func `the value of a name is the last message that was set for it`() throws {
        let client = host.connect()
        client.setValue("a", "1")
        client.setValue("b", "2")
        let last = client.setValue("a", "3", .synced)
        host.run()
        let receipt = try #require(ValueAnswers(client).receipts[last])
        #expect(receipt.durability == .synced)
        #expect(host.values(">") == [ReadValue("a", "3"), ReadValue("b", "2")])
        #expect(host.values("a").first?.payload == "3")
    }

    @Test func `each object of a name has a value of its own`() {
        let client = host.connect()
        client.setValue("a", "1")
        client.setValue("a", object: "o", "2")
        client.setValue("a", object: "p", "3")
        host.run()
        #expect(host.values("a").map(\.payload) == ["1", "2", "3"])
        #expect(host.values("a", object: "o").map(\.payload) == ["2"])
        #expect(host.values("a", object: "").map(\.payload) == ["1"])
        #expect(host.values("*", object: "").map(\.payload) == ["1"])
        #expect(host.values("*", object: "p").map(\.payload) == ["3"])
    }

    @Test func `subscribers get a message that is set as a value like any other`() {
        let client = host.connect()
        client.subscribe(1, ["a"])
        client.subscribe(2, ["a"], durable: "d")
        host.run()
        _ = client.take()
        client.setValue("a", "1", .automatic)
        host.run()
        let answers = ValueAnswers(client)
        #expect(answers.messages.map(\.content) == [ReadValue("a", "1"), ReadValue("a", "1")])
        #expect(answers.receipts.values.map(\.durability) == [.stored])
    }

    @Test func `a volatile value is refused`() {
        let client = host.connect()
        let request = client.setValue("a", "1", .volatile)
        host.run()
        #expect(ValueAnswers(client).errors[request]?.code == ErrorCode.invalidArgument.rawValue)
        #expect(host.values("a").isEmpty)
    }

    @Test func `a value is refused without the right to post its name`() {
        let client = host.connect()
        let request = client.setValue("user.1.x", "1")
        host.run()
        #expect(ValueAnswers(client).errors[request]?.code == ErrorCode.forbidden.rawValue)
    }

    @Test func `only the last change of a name in a batch is stored as its value`() {
        let client = host.connect()
        for text in ["1", "2", "3"] { client.setValue("a", text) }
        host.run()
        #expect(host.store.batches.flatMap(\.values).count == 1)
        #expect(host.store.messages.count == 3)
    }

    @Test func `a restart keeps values, their numbers and their charges`() {
        let client = host.connect()
        client.setValue("a", "1")
        client.setValue("b", object: "o", "2")
        client.clear("a", object: "")
        host.run()
        let restarted = TestHost(store: host.store)
        #expect(restarted.amount(of: .values, 1000) == 1)
        #expect(restarted.amount(of: .valueBytes, 1000) == host.amount(of: .valueBytes, 1000))
        #expect(restarted.values("b").map(\.payload) == ["2"])
        let other = restarted.connect()
        other.setValue("a", "3")
        other.setValue("b", object: "o", "4")
        restarted.run()
        #expect(restarted.values(">").map(\.payload) == ["3", "4"])
        #expect(restarted.store.values.count == 2)
    }

    // MARK: Charges

    @Test func `a value is charged to the user that has set it last`() {
        let (first, second) = (host.connect(uid: 1000), host.connect(uid: 2000))
        first.setValue("a", "1")
        first.setValue("b", "1")
        host.run()
        #expect(host.amount(of: .values, 1000) == 2)
        second.setValue("a", "2222")
        host.run()
        #expect(host.amount(of: .values, 1000) == 1 && host.amount(of: .values, 2000) == 1)
        #expect(host.amount(of: .valueBytes, 2000) == 128 + 1 + 4)
        second.clear("a", object: "")
        host.run()
        #expect(host.amount(of: .values, 2000) == 0 && host.amount(of: .valueBytes, 2000) == 0)
    }

    @Test func `values above a limit are refused, and replacing one's own is not`() {
        var configuration = BrokerConfiguration()
        configuration.valuesPerUser = 2
        configuration.valueBytesPerUser = 2 * (128 + 3)
        let host = TestHost(configuration)
        let client = host.connect()
        client.setValue("a", "1")
        client.setValue("b", "2")
        let third = client.setValue("c", "3")
        let replaced = client.setValue("b", "22")
        let long = client.setValue("a", "4444")
        host.run()
        let answers = ValueAnswers(client)
        #expect(answers.errors[third]?.code == ErrorCode.limitReached.rawValue)
        #expect(
            answers.errors[third]?.message
                == "user 1000 has reached the limit of 2 values (limits.per_user.values): clear stored values or end "
                + "announced ones that are not needed, or raise the limit")
        #expect(answers.receipts[replaced] != nil)
        #expect(
            answers.errors[long]?.message
                == "user 1000 has reached the limit of 262 bytes of values (limits.per_user.value_bytes): use "
                + "'notifyctl clear' for values that are not needed, or raise the limit")
        #expect(host.values(">").map(\.payload) == ["1", "22"])
    }

    @Test func `all values together take at most their share of the log`() {
        var configuration = BrokerConfiguration()
        configuration.valueBytes = 2 * (128 + 2)
        let host = TestHost(configuration)
        let (first, second) = (host.connect(uid: 1000), host.connect(uid: 2000))
        first.setValue("a", "1")
        second.setValue("b", "2")
        let third = first.setValue("c", "3")
        let replaced = second.setValue("a", "4")
        host.run()
        let error = ValueAnswers(first).errors[third]
        #expect(error?.code == ErrorCode.limitReached.rawValue && error?.message.contains("log.max_bytes") == true)
        #expect(ValueAnswers(second).receipts[replaced] != nil)
    }

    @Test func `a batch that fails leaves the values as they were`() {
        let client = host.connect()
        client.setValue("a", "1")
        host.run()
        _ = client.take()
        client.setValue("a", "2")
        client.setValue("b", "3")
        client.clear("a", object: "")
        host.tick()
        host.work(failingWith: .broken)
        host.runTicks()
        #expect(ValueAnswers(client).errors.count == 3)
        #expect(host.amount(of: .values, 1000) == 1 && host.amount(of: .valueBytes, 1000) == 128 + 2)
        host.advance(.seconds(1))
        host.run()
        #expect(host.values(">") == [ReadValue("a", "1")])
    }
}
