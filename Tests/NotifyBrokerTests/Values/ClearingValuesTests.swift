import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

struct ClearingValuesTests {
    let host = TestHost()

    @Test func `clearing a value tells subscribers the reason and who did it`() throws {
        let client = host.connect(uid: 1000)
        client.setValue("a", "1")
        host.run()
        let other = host.connect(uid: 2000, pid: 99)
        other.subscribe(1, ["a"])
        host.run()
        _ = other.take()
        let request = other.clear("a", object: "")
        host.run()
        let frames = other.take()
        let message = try #require(frames.lazy.compactMap { if case .message(let m) = $0 { m } else { nil } }.first)
        #expect(ReadValue(message).cleared == "cleared" && message.payload.isEmpty)
        #expect(message.uid == 2000 && message.stamp.pid == 99)
        #expect(
            frames.contains(
                .valuesCleared(ValuesCleared(request: request, count: 1, sequence: message.sequence))))
        #expect(host.values("a").isEmpty)
    }

    @Test func `clearing what has no value posts nothing`() {
        let client = host.connect()
        let requests = [client.clear("a", object: ""), client.clear("a"), client.clear("b.*")]
        host.run()
        let answers = ValueAnswers(client)
        for request in requests { #expect(answers.cleared[request]?.count == 0) }
        #expect(host.store.messages.isEmpty)
        #expect(host.holdsNothing(1000) || host.connectionCount > 0)
    }

    @Test func `patterns clear every value that matches, also those that are not committed yet`() {
        host.store.valuesPerPage = 2
        let client = host.connect()
        for name in ["a.1", "a.2", "a.3", "b.1"] { client.setValue(name, "x") }
        client.setValue("a.1", object: "o", "x")
        let request = client.clear("a.*")
        host.run()
        #expect(ValueAnswers(client).cleared[request]?.count == 4)
        #expect(host.values(">") == [ReadValue("b.1", "x")])
        #expect(host.amount(of: .pendingBytes, 1000) == 0)
    }

    @Test func `a name without an object given clears the values of all its objects`() {
        let client = host.connect()
        for object in ["", "o", "p"] { client.setValue("a", object: object, "x") }
        client.setValue("b", "x")
        let request = client.clear("a")
        host.run()
        #expect(ValueAnswers(client).cleared[request]?.count == 3)
        #expect(host.values(">").map(\.name) == ["b"])
    }

    @Test func `a value whose old mark is being deleted is cleared`() {
        let client = host.connect()
        client.setValue("a", "1")
        client.clear("a", object: "")
        host.run()
        host.advance(.seconds(86_401))
        client.post("x", .stored)
        host.tick()
        client.setValue("a", "2")
        let request = client.clear("a")
        host.run()
        #expect(ValueAnswers(client).cleared[request]?.count == 1)
        #expect(host.values("a").isEmpty)
    }

    @Test func `a request whose answer has no room clears nothing`() throws {
        var configuration = BrokerConfiguration()
        configuration.postWindow = 2
        let host = TestHost(configuration)
        let client = host.connect()
        client.setValue("a", "1")
        host.tick()
        for _ in 0..<2 { client.setValue("a", "2", ifSequence: 9) }
        let request = client.clear("a", object: "")
        host.run()
        #expect(ValueAnswers(client).errors[request]?.code == ErrorCode.limitReached.rawValue)
        #expect(host.values("a").map(\.payload) == ["1"])
    }

    @Test func `a name that the client may not post is refused`() {
        let policy = AccessPolicy(rules: [AccessRule(.allow, [.post, .subscribe], names: ["x.>"], uids: [1000])])
        let host = TestHost(policy: policy)
        let owner = host.connect(uid: 2000)
        owner.setValue("user.2000.a", "1")
        host.run()
        let client = host.connect(uid: 1000)
        let single = client.clear("user.2000.a", object: "")
        let all = client.clear("user.*.a")
        host.run()
        let errors = ValueAnswers(client).errors
        #expect(errors[single]?.code == ErrorCode.forbidden.rawValue)
        #expect(errors[all]?.code == ErrorCode.forbidden.rawValue)
        #expect(host.values("user.2000.a", uid: 2000).count == 1)
    }

    @Test func `a name without a value is refused, too, if the client may not post it`() {
        let client = host.connect(uid: 1000)
        client.setValue("a", "1")
        host.run()
        let requests = [
            client.clear("user.2000.a"), client.clear("user.2000.a", object: ""),
            client.clear("user.2000.a", object: "o"), client.clear("user.2000.a", object: "", ifSequence: 0),
            client.clear("a", "user.2000.a"),
        ]
        let open = [client.clear("user.1000.a"), client.clear("user.2000.*")]
        host.run()
        let answers = ValueAnswers(client)
        for request in requests { #expect(answers.errors[request]?.code == ErrorCode.forbidden.rawValue) }
        for request in open { #expect(answers.cleared[request]?.count == 0, "there is nothing to clear") }
        #expect(host.values("a").count == 1, "a refused request clears none of its names")
    }

    @Test func `an expected sequence needs a name without wildcards`() {
        let client = host.connect()
        let request = client.clear("a.*", object: "", ifSequence: 1)
        host.run()
        #expect(ValueAnswers(client).errors[request]?.code == ErrorCode.invalidArgument.rawValue)
    }

    @Test func `a request whose client has gone clears nothing more and releases its memory`() {
        host.store.valuesPerPage = 1
        let client = host.connect(uid: 1000)
        for index in 0..<4 { client.setValue("a.\(index)", "x") }
        host.run()
        client.clear("a.*")
        host.tick()
        host.closed(client)
        host.run()
        #expect(host.amount(of: .pendingBytes, 1000) == 0)
        host.store.valuesPerPage = .max
        #expect(host.values("a.*", uid: 2000).count >= 3)
    }

    @Test func `marks of cleared values are forgotten after a day`() {
        let client = host.connect()
        client.setValue("a", object: "o", "1")
        client.clear("a", object: "o")
        host.run()
        let sequence = host.lastSequence
        #expect(host.store.values.count == 1)
        host.advance(.seconds(86_401))
        client.setValue("b", "2")
        host.run()
        #expect(host.store.values.values.map { String(decoding: $0.message.name, as: UTF8.self) } == ["b"])
        #expect(host.store.forgottenThrough == sequence)
    }

    @Test(arguments: [.max, .max - 1, 1 << 63] as [UInt64])
    func `a mark with an impossible time in the log neither stops the broker nor is forgotten`(time: UInt64) throws {
        let client = host.connect()
        client.setValue("a", "1")
        client.clear("a", object: "")
        host.run()
        let (number, mark) = try #require(host.store.values.first)
        var message = mark.message
        message.time = time
        host.store.values[number] = FakeStore.Value(number: number, isCleared: true, message: message)
        let restarted = TestHost(store: host.store, at: .seconds(86_401))
        let other = restarted.connect()
        let request = other.setValue("b", "2")
        restarted.run()
        #expect(ValueAnswers(other).receipts[request] != nil)
        #expect(restarted.store.values[number]?.isCleared == true)
    }
}
