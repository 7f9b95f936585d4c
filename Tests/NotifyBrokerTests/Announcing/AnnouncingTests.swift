import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Values that live as long as a connection: who may announce one, and what ends it.
struct AnnouncingTests {
    private let host = TestHost()

    private func texts(_ client: Client) -> [String] { ValueAnswers(client).messages.map(\.description) }

    private func errors(_ client: Client) -> [ErrorCode?] {
        client.takeErrors().map { ErrorCode(rawValue: $0.code) }
    }

    @Test func `a value is posted, read, and cleared with its connection, and the will follows`() throws {
        let (owner, other) = (host.connect(uid: 1000, pid: 11), host.connect(uid: 2000))
        other.subscribe(1, ["a"])
        host.run()
        _ = other.take()
        let headers = try HeaderList.encode([("k", "v")])
        let request = owner.announce("a", object: "o", "up", headers: headers, will: "died")
        host.run()
        let sequence = host.lastSequence
        #expect(
            owner.take() == [.announced(Announced(request: request, sequence: sequence, subscribers: 1))])
        let message = try #require(other.takeMessages().first)
        #expect(message.text == "up" && message.object == "o" && message.sequence == sequence)
        #expect(message.headers == headers.withUnsafeBytes { EphemeralHeader.encoded(after: $0) })
        #expect(host.values("a", uid: 2000) == [ReadValue("a", object: "o", "up")])
        #expect(host.counter("announcements") == 1 && host.amount(of: .values, 1000) == 1)
        host.closed(owner)
        host.run()
        let last = other.takeMessages()
        #expect(last.map { ReadValue($0).description } == ["a/o=disconnected", "a/o=died"])
        #expect(last.allSatisfy { $0.uid == 1000 && $0.stamp.pid == 11 })
        #expect(host.values("a").isEmpty && host.counter("announcements") == 0)
        #expect(host.amount(of: .values, 1000) == 0 && host.amount(of: .announcementBytes, 1000) == 0)
        #expect(host.store.messages.isEmpty, "announced values are not stored")
    }

    @Test func `a new content replaces the old one, and a withdrawn value has no will`() throws {
        let (owner, other) = (host.connect(), host.connect())
        other.subscribe(1, ["a"])
        owner.announce("a", "1", will: "died")
        owner.announce("a", "2", will: "died")
        let request = owner.withdraw("a", headers: try HeaderList.encode([("exit-status", "3")]))
        host.run()
        #expect(ValueAnswers(owner).cleared[request]?.count == 1)
        let messages = other.takeMessages()
        #expect(messages.map { ReadValue($0).description } == ["a=1", "a=2", "a=released"])
        let headers = messages[2].headers.withUnsafeBytes { HeaderList.value(of: "exit-status", in: $0) }
        #expect(headers == "3")
        host.closed(owner)
        host.run()
        #expect(other.takeMessages().isEmpty && host.amount(of: .values, 1000) == 0)
    }

    @Test func `only the owner withdraws a value`() {
        let (owner, other) = (host.connect(), host.connect())
        owner.announce("a", "1")
        let request = other.withdraw("a")
        host.run()
        #expect(ValueAnswers(other).cleared[request]?.count == 0)
        #expect(host.values("a").map(\.payload) == ["1"])
    }

    @Test func `a stored and an announced value exclude each other`() throws {
        let (owner, other) = (host.connect(pid: 11), host.connect())
        other.setValue("stored", "s")
        let early = owner.announce("stored", "a")
        host.run()
        let late = owner.announce("stored", "a")
        owner.announce("a", "1")
        host.run()
        let answers = ValueAnswers(owner)
        for request in [early, late] {
            #expect(answers.errors[request]?.code == ErrorCode.valueInUse.rawValue)
            #expect(answers.errors[request]?.detail == 0)
        }
        _ = other.take()
        let set = other.setValue("a", "x")
        let conditional = other.setValue("a", "x", ifSequence: 0)
        let cleared = other.clear("a", object: "")
        owner.announce("b", object: "o", "2")
        let (anyObject, withObject) = (other.clear("a"), other.clear("b"))
        let all = other.clear(">")
        host.run()
        let refused = ValueAnswers(other)
        for request in [set, conditional, cleared, anyObject, withObject] {
            #expect(refused.errors[request]?.code == ErrorCode.valueInUse.rawValue)
            #expect(refused.errors[request]?.detail == 11)
        }
        #expect(refused.cleared[all]?.count == 1, "a pattern clears stored values only")
        #expect(host.values(">").map(\.payload) == ["1", "2"])
        owner.announce("stored", "a")
        host.run()
        #expect(host.values("stored").map(\.payload) == ["a"])
    }

    @Test func `while a clear of a stored value may fail, nothing is announced in its place`() {
        let client = host.connect()
        client.setValue("a", "1")
        host.run()
        client.clear("a", object: "")
        let request = client.announce("a", "2")
        host.tick()
        #expect(ValueAnswers(client).errors[request]?.code == ErrorCode.valueInUse.rawValue)
        host.work(failingWith: .broken)
        host.runTicks()
        host.advance(.seconds(1))
        host.run()
        #expect(host.values("a").map(\.payload) == ["1"])
    }

    @Test func `a value in use is refused with the holder's pid`() {
        let (owner, other) = (host.connect(pid: 11), host.connect(pid: 22))
        owner.announce("a", "1")
        let request = other.announce("a", "2")
        host.run()
        let error = ValueAnswers(other).errors[request]
        #expect(error?.code == ErrorCode.valueInUse.rawValue && error?.detail == 11)
        #expect(host.values("a").map(\.payload) == ["1"])
    }

    @Test func `the same user takes a value over, without will, and the owner learns it`() throws {
        let (owner, other, watcher) = (host.connect(pid: 11), host.connect(pid: 22), host.connect())
        watcher.subscribe(1, ["a"])
        let first = owner.announce("a", "1", will: "died")
        host.run()
        _ = owner.take()
        other.announce("a", "2", takesOver: true)
        host.run()
        #expect(texts(watcher) == ["a=1", "a=takenOver", "a=2"])
        let error = try #require(owner.takeErrors().first)
        #expect(error.request == first && error.code == ErrorCode.takenOver.rawValue && error.detail == 22)
        host.closed(owner)
        host.run()
        #expect(host.values("a").map(\.payload) == ["2"] && texts(watcher).isEmpty)
        #expect(host.amount(of: .values, 1000) == 1)
        host.closed(other)
        host.run()
        #expect(host.amount(of: .values, 1000) == 0 && host.amount(of: .announcementBytes, 1000) == 0)
    }

    @Test func `another user takes a value over only with the right to manage everything`() {
        let rules = [AccessRule(.allow, [.post, .subscribe], names: [">"], uids: [1000, 2000])]
        let host = TestHost(policy: AccessPolicy(rules: rules))
        let (owner, other, root) = (host.connect(uid: 1000), host.connect(uid: 2000), host.connect(uid: 0))
        owner.announce("a", "1")
        other.announce("a", "2", takesOver: true)
        host.run()
        #expect(errors(other) == [.valueInUse])
        root.announce("a", "3", takesOver: true)
        host.run()
        #expect(errors(owner) == [.takenOver] && host.values("a").map(\.payload) == ["3"])
        #expect(host.amount(of: .values, 1000) == 0 && host.amount(of: .values, 0) == 1)
    }

    @Test func `within the grace period, the same client goes on without a notice`() {
        let instance = InstanceID(high: 5, low: 6)
        let (owner, watcher) = (host.connect(instance: instance), host.connect())
        watcher.subscribe(1, ["a"])
        owner.announce("a", "1", will: "died", grace: .seconds(10))
        host.run()
        host.closed(owner)
        host.run()
        #expect(texts(watcher) == ["a=1"] && host.values("a").map(\.payload) == ["1"])
        let stranger = host.connect()
        stranger.announce("a", "x")
        host.run()
        let error = stranger.takeErrors().first
        #expect(error?.code == ErrorCode.valueInUse.rawValue)
        #expect(error?.message.contains("grace period") == true)
        let again = host.connect(instance: instance)
        again.announce("a", "2", will: "died again", grace: .seconds(10))
        host.run()
        host.advance(.seconds(11))
        host.run()
        #expect(texts(watcher) == ["a=2"])
        host.closed(again)
        host.advance(.milliseconds(9_999))
        host.run()
        #expect(texts(watcher).isEmpty)
        #expect(host.nextDeadline != nil)
        host.advance(.milliseconds(1))
        host.run()
        #expect(texts(watcher) == ["a=disconnected", "a=died again"])
        #expect(host.amount(of: .values, 1000) == 0)
    }

    @Test func `a returned client withdraws its value within the grace period`() {
        let instance = InstanceID(high: 5, low: 6)
        let owner = host.connect(instance: instance)
        owner.announce("a", "1", will: "died", grace: .seconds(10))
        host.run()
        host.closed(owner)
        let again = host.connect(instance: instance)
        let request = again.withdraw("a")
        host.run()
        #expect(ValueAnswers(again).cleared[request]?.count == 1)
        host.advance(.seconds(11))
        #expect(host.values("a").isEmpty)
    }

    @Test func `requests of an earlier connection do not change the value of the later one`() {
        let instance = InstanceID(high: 5, low: 6)
        let (earlier, watcher) = (host.connect(instance: instance), host.connect())
        watcher.subscribe(1, ["a"])
        earlier.announce("a", "1", will: "died")
        host.run()
        let later = host.connect(instance: instance)
        later.announce("a", "2", will: "died")
        host.run()
        #expect(texts(watcher) == ["a=1", "a=2"])
        let request = earlier.withdraw("a")
        earlier.announce("a", "3")
        host.run()
        let answers = ValueAnswers(earlier)
        #expect(answers.cleared[request]?.count == 0)
        #expect(answers.errors.values.map { ErrorCode(rawValue: $0.code) } == [.valueInUse])
        host.closed(earlier)
        host.run()
        #expect(texts(watcher).isEmpty && host.values("a").map(\.payload) == ["2"])
    }

    @Test func `invalid announcements are refused`() throws {
        var configuration = BrokerConfiguration()
        configuration.maximumPayloadBytes = 4
        configuration.subscriptionsPerConnection = 2
        configuration.valuesPerUser = 3
        let host = TestHost(configuration)
        let client = host.connect()
        client.announce("a.*")
        client.announce("notifyd.a")
        client.announce("a", "12345")
        client.announce("a", will: "12345")
        client.announce("a", grace: .seconds(601))
        client.announce("a", headers: ClearedHeader.encoded(.cleared))
        client.send(announceFrame(client.nextRequest(), "a", will: (ClearedHeader.encoded(.cleared), [])))
        host.run()
        #expect(
            errors(client) == [
                .invalidName, .forbidden, .payloadTooLarge, .payloadTooLarge, .invalidArgument, .invalidHeaders,
                .invalidHeaders,
            ])
        for name in ["a", "b", "a", "c"] { client.announce(name) }
        host.run()
        #expect(errors(client) == [.limitReached], "a connection has two values")
        let other = host.connect()
        other.announce("d")
        other.announce("e")
        host.run()
        let error = other.takeErrors()
        #expect(error.map(\.code) == [ErrorCode.limitReached.rawValue] && error[0].message.contains("per_user.values"))
        #expect(host.counter("announcements") == 3)
    }

    @Test func `durable subscriptions get wills, and no announcements`() {
        let (owner, other) = (host.connect(), host.connect())
        other.subscribe(1, ["a"], durable: "d")
        host.run()
        _ = other.take()
        owner.announce("a", "1", will: "died")
        host.run()
        #expect(other.takeMessages().isEmpty)
        host.closed(owner)
        host.run()
        #expect(other.takeMessages().map(\.text) == ["died"])
        #expect(host.store.messages.count == 1)
        #expect(host.amount(of: .pendingBytes, 1000) == 0)
    }

    /// Announces a value with a will, which a live and a durable subscription are to get.
    private func announceWithWill() -> (owner: Client, live: Client, durable: Client) {
        let (owner, live, durable) = (host.connect(), host.connect(), host.connect(uid: 2000))
        live.subscribe(1, ["a"])
        durable.subscribe(1, ["a"], durable: "d")
        host.run()
        owner.announce("a", "1", will: "died")
        host.run()
        return (owner, live, durable)
    }

    @Test func `a will that can't be stored goes to live subscribers, and is counted`() {
        let (owner, live, durable) = announceWithWill()
        live.post("x", .stored)
        host.tick()
        host.work(failingWith: .broken)
        host.runTicks()
        _ = (live.take(), durable.take())
        host.closed(owner)
        host.tick()
        #expect(texts(live) == ["a=disconnected", "a=died"])
        host.runTicks()
        #expect(host.counter("unstored_wills") == 1)
    }

    @Test func `a will in a batch that fails goes to live subscribers, and is counted`() {
        let (owner, live, _) = announceWithWill()
        _ = live.take()
        host.closed(owner)
        host.tick()
        #expect(host.counter("unstored_wills") == 0)
        host.work(failingWith: .broken)
        host.runTicks()
        #expect(texts(live) == ["a=disconnected", "a=died"])
        #expect(host.counter("unstored_wills") == 1)
    }

    @Test func `a will is posted with the rights of its owner at that time`() {
        let (owner, other) = (host.connect(), host.connect(uid: 2000))
        other.subscribe(1, ["a"])
        owner.announce("a", "1", will: "died")
        host.run()
        _ = other.take()
        let denied = AccessPolicy(rules: [AccessRule(.deny, [.post], names: ["a"], uids: [1000])])
        host.core.broker.policyChanged(to: denied.with(generation: 7))
        host.closed(owner)
        host.run()
        #expect(texts(other) == ["a=disconnected"])
    }

    @Test func `the end of many values takes several ticks`() {
        let (owner, other) = (host.connect(), host.connect())
        other.subscribe(1, ["a.*"])
        for index in 0..<500 { owner.announce("a.\(index)", will: "died") }
        host.run()
        _ = other.take()
        host.closed(owner)
        host.tick()
        let first = texts(other).count
        #expect(first > 0 && first < 500)
        // A name whose turn has not come is free, too.
        let next = host.connect()
        next.announce("a.499", "next")
        host.run()
        #expect(errors(next).isEmpty && host.values("a.499").map(\.payload) == ["next"])
        #expect(first + texts(other).count == 1_001)
        #expect(host.counter("announcements") == 1 && host.amount(of: .values, 1000) == 1)
    }

    @Test func `the values of another user end in time beside many that end`() {
        let (owner, other, watcher) = (host.connect(), host.connect(uid: 2000), host.connect(uid: 3000))
        watcher.subscribe(1, ["a.*", "b"])
        for index in 0..<500 { owner.announce("a.\(index)") }
        other.announce("b", "1", will: "died")
        host.run()
        _ = watcher.take()
        host.closed(owner)
        host.closed(other)
        host.tick()
        let messages = texts(watcher)
        #expect(messages.count < 500 && messages.prefix(3).suffix(2) == ["b=disconnected", "b=died"])
    }

    @Test func `names of an ended connection are free before its values end, except in a grace period`() {
        let (owner, next, watcher) = (host.connect(), host.connect(), host.connect())
        watcher.subscribe(1, ["a.*"])
        for index in 0..<500 { owner.announce("a.\(index)", will: "died", grace: .seconds(index == 400 ? 1 : 0)) }
        host.run()
        _ = watcher.take()
        host.closed(owner)
        next.announce("a.400", "next")
        next.announce("a.300", "next")
        host.tick()
        #expect(next.takeErrors().first?.message.contains("grace period") == true)
        #expect(texts(watcher).prefix(3) == ["a.300=disconnected", "a.300=died", "a.300=next"])
        host.run()
        #expect(host.counter("announcements") == 2)
        host.advance(.seconds(1))
        host.run()
        #expect(host.values("a.*").map(\.payload) == ["next"] && host.amount(of: .values, 1000) == 1)
    }

    @Test func `many grace periods that pass at once take several turns`() {
        let (owner, count) = (host.connect(), Announcements.expiredPerTurn + 2)
        for index in 0..<count { owner.announce("a.\(index)", grace: .seconds(1)) }
        host.run()
        host.closed(owner)
        host.run()
        host.advance(.seconds(1))
        #expect(host.core.broker.announcements.absenceCount == 2)
        #expect(host.nextDeadline.map { $0 <= host.now.monotonic } == true)
        host.advance(.zero)
        host.run()
        #expect(host.counter("announcements") == 0 && host.amount(of: .values, 1000) == 0)
    }

    @Test func `clears of patterns leave out a value that is announced meanwhile`() {
        let (client, owner) = (host.connect(), host.connect())
        client.setValue("a", "1")
        client.setValue("b", "1")
        host.run()
        let request = client.clear("*")
        host.tick()
        owner.clear("a", object: "")
        host.work()
        host.runTicks()
        host.run()
        owner.announce("a", "2")
        host.run()
        let answers = ValueAnswers(client)
        #expect(answers.errors.isEmpty && answers.cleared[request] != nil)
        #expect(host.values(">").map(\.payload) == ["2"])
    }

    @Test func `clients that come and go within their grace period use no more memory`() {
        let instance = InstanceID(high: 5, low: 6)
        for _ in 0..<50 {
            let owner = host.connect(instance: instance)
            for index in 0..<20 { owner.announce("a.\(index)", grace: .seconds(600)) }
            host.run()
            host.closed(owner)
        }
        host.run()
        #expect(host.core.broker.announcements.absenceCount <= 2 * 20 + 64 + 20)
        host.advance(.seconds(601))
        host.run()
        #expect(host.counter("announcements") == 0 && host.amount(of: .announcementBytes, 1000) == 0)
    }

    @Test func `a drain ends values without messages`() {
        let (owner, other) = (host.connect(), host.connect())
        other.subscribe(1, ["a"])
        owner.announce("a", "1", will: "died")
        host.run()
        _ = other.take()
        host.core.broker.drainRequested()
        host.run()
        host.closed(owner)
        host.run()
        #expect(texts(other).isEmpty && host.amount(of: .values, 1000) == 0)
    }

    @Test func `an announcement counts towards the posts per second`() {
        var configuration = BrokerConfiguration()
        configuration.userLimits.general.postsPerSecond = 1
        let host = TestHost(configuration)
        let client = host.connect()
        for index in 0..<50 { client.announce("a.\(index)") }
        host.run()
        #expect((host.counter("announcements") ?? 0) < 50)
    }
}
