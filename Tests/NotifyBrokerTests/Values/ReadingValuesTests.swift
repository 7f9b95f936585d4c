import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

struct ReadingValuesTests {
    let host = TestHost()

    private func page(
        _ client: Client, _ request: UInt64, _ host: TestHost? = nil
    ) -> (page: ValuePage, values: [ReadValue])? {
        (host ?? self.host).run()
        return ValueAnswers(client).pages[request]
    }

    @Test func `pages by key contain each value once`() throws {
        let client = host.connect()
        for index in 0..<5 { client.setValue("a.\(index)", "x") }
        host.run()
        let first = try #require(page(client, client.readValues("a.*", maximum: 2)))
        #expect(first.values.map(\.name) == ["a.0", "a.1"] && !first.page.isEnd)
        #expect(first.page.committedThrough == host.lastSequence)
        client.setValue("a.9", "later")
        client.setValue("a.3", "changed")
        client.clear("a.4", object: "")
        host.run()
        let order = ReadValues.Order.keys(after: first.page.through, through: first.page.lastKey)
        let second = try #require(page(client, client.readValues("a.*", order: order)))
        #expect(second.page.isEnd && second.values.map(\.description) == ["a.2=x", "a.3=changed"])
        let changes = ReadValues.Order.changes(after: first.page.committedThrough, announcedAfter: 0, isWaiting: true)
        let third = try #require(page(client, client.readValues("a.*", order: changes)))
        #expect(third.values.map(\.description) == ["a.9=later", "a.3=changed", "a.4=cleared"])
        #expect(third.page.isEnd && third.page.through == host.lastSequence)
    }

    @Test func `a page by key contains a value that is committed after its request`() throws {
        let client = host.connect()
        client.readValues("none.*")
        host.tick()
        // The store reads the page of the request before.
        let request = client.readValues("a.*")
        client.setValue("a.1", "x")
        host.tick()
        for _ in 0..<2 { host.work() }
        let answer = try #require(page(client, request))
        #expect(answer.page.committedThrough == host.lastSequence)
        #expect(answer.values.map(\.description) == ["a.1=x"])
    }

    @Test func `a request for changes waits for a commit that matches`() throws {
        let client = host.connect()
        let request = client.readValues(
            "a", order: .changes(after: host.lastSequence, announcedAfter: 0, isWaiting: true))
        host.run()
        client.setValue("b", "1")
        client.post("a", .stored)
        host.run()
        #expect(ValueAnswers(client).pages.isEmpty)
        client.setValue("a", "2")
        host.tick()
        #expect(ValueAnswers(client).pages.isEmpty, "the change is not committed yet")
        let answer = try #require(page(client, request))
        #expect(answer.values.map(\.content) == [ReadValue("a", "2")])
        #expect(host.amount(of: .pendingBytes, 1000) == 0)
    }

    @Test func `a waiting request can be ended`() throws {
        let client = host.connect()
        let request = client.readValues("a", order: .changes(after: 0, announcedAfter: 0, isWaiting: true))
        host.run()
        client.send(EndRead(request: request))
        let answer = try #require(page(client, request))
        #expect(answer.values.isEmpty && answer.page.isEnd)
        client.setValue("a", "1")
        host.run()
        #expect(ValueAnswers(client).pages.isEmpty)
    }

    /// The store reads a page for each commit, and others change more values than a page reaches.
    @Test func `a waiting request that does not reach the end is answered, without a further commit`() throws {
        host.store.valueRowsPerPage = 3
        let client = host.connect()
        for index in 0..<8 { client.setValue("b.\(index)", "x") }
        host.run()
        _ = client.take()
        var position: UInt64 = 0
        let end = host.lastSequence
        for _ in 0..<2 {
            let order = ReadValues.Order.changes(after: position, announcedAfter: 0, isWaiting: true)
            let answer = try #require(page(client, client.readValues("a", order: order)))
            #expect(answer.values.isEmpty && answer.page.committedThrough == end)
            #expect(answer.page.through == position + 3)
            position = answer.page.through
        }
        let order = ReadValues.Order.changes(after: position, announcedAfter: 0, isWaiting: true)
        let last = client.readValues("a", order: order)
        #expect(page(client, last) == nil, "the end is reached")
        client.setValue("a", "1")
        #expect(try #require(page(client, last)).values.map(\.payload) == ["1"])
    }

    @Test func `changes that are in memory are read through the last commit`() throws {
        let client = host.connect()
        client.setValue("a", "1")
        host.run()
        let position = host.lastSequence
        client.post("b", .stored)
        host.run()
        _ = client.take()
        let order = ReadValues.Order.changes(after: position, announcedAfter: 0, isWaiting: false)
        let answer = try #require(page(client, client.readValues("a", order: order)))
        #expect(answer.page.through == host.lastSequence && answer.page.committedThrough == host.lastSequence)
    }

    @Test func `damaged values of other names do not count for names without wildcards`() throws {
        let client = host.connect()
        client.setValue("other", "x")
        for index in 0...1_024 { client.setValue("a", object: "\(index)", "x") }
        client.setValue("b", "x")
        host.run()
        _ = client.take()
        func damaged(_ patterns: String..., number: UInt64) throws -> UInt64 {
            host.store.damagedValues = [number]
            let request = client.nextRequest()
            client.send(ReadValues(request: request, maximumMessages: 10_000, object: nil, patterns: patterns))
            return try #require(page(client, request)).page.damaged
        }
        #expect(try damaged("a", number: 1) == 0)
        #expect(try damaged("a", number: 5) == 1)
        #expect(try damaged("a", "other", number: 1) == 1)
        #expect(try damaged("a", "b", number: 1_027) == 1)
        #expect(try damaged("*", number: 1) == 1, "any name may match")
    }

    @Test func `of several changes since the position, the last one is read`() throws {
        let client = host.connect()
        client.setValue("a", "1")
        host.run()
        let position = host.lastSequence
        for text in ["2", "3", "4"] {
            client.setValue("a", text)
            host.run()
        }
        _ = client.take()
        let answer = try #require(
            page(client, client.readValues("a", order: .changes(after: position, announcedAfter: 0, isWaiting: false))))
        #expect(answer.values.map(\.payload) == ["4"])
    }

    @Test func `a position whose changes are unknown is reset`() throws {
        let client = host.connect()
        client.setValue("a", "1")
        host.run()
        _ = client.take()
        func isReset(_ after: UInt64, epoch: UInt64 = 0, _ host: TestHost, _ client: Client) throws -> Bool {
            let request = client.readValues(
                "a", order: .changes(after: after, announcedAfter: 0, isWaiting: false), epoch: epoch)
            return try #require(page(client, request, host)).page.isReset
        }
        #expect(try !isReset(host.lastSequence, host, client))
        #expect(try isReset(host.lastSequence, epoch: 5, host, client), "another epoch")
        #expect(try isReset(host.lastSequence + 1, host, client), "a sequence of the future")
        client.clear("a", object: "")
        host.run()
        let cleared = host.lastSequence
        host.advance(.seconds(86_401))
        client.setValue("b", "1")
        host.run()
        _ = client.take()
        #expect(try isReset(cleared - 1, host, client), "a clear since then is forgotten")
        #expect(try !isReset(cleared, host, client))
    }

    /// The position may have passed changes that the client was not permitted to receive.
    @Test func `after a change of the rights, a waiting request and an earlier position are reset`() throws {
        let client = host.connect()
        client.setValue("a", "1")
        host.run()
        let first = try #require(page(client, client.readValues("a")))
        let changes = ReadValues.Order.changes(after: host.lastSequence, announcedAfter: 0, isWaiting: true)
        let waiting = client.readValues("a", order: changes, epoch: first.page.epoch)
        host.run()
        #expect(ValueAnswers(client).pages[waiting] == nil)
        let rule = AccessRule(.deny, [.subscribe], names: ["other"])
        host.core.broker.policyChanged(to: AccessPolicy(generation: 1, rules: [rule]))
        let answer = try #require(page(client, waiting))
        #expect(answer.page.isReset && answer.page.epoch != first.page.epoch)
        let resumed = client.readValues("a", order: changes, epoch: first.page.epoch)
        #expect(try #require(page(client, resumed)).page.isReset)
        let again = try #require(page(client, client.readValues("a")))
        #expect(again.values.map(\.payload) == ["1"] && again.page.epoch == answer.page.epoch)
    }

    @Test func `a position that the log lost with the power is reset`() throws {
        let client = host.connect()
        client.setValue("a", "1")
        host.run()
        let lost = host.lastSequence + 3
        let restarted = TestHost(store: host.store)
        let other = restarted.connect()
        let request = other.readValues("a", order: .changes(after: lost, announcedAfter: 0, isWaiting: false))
        #expect(try #require(page(other, request, restarted)).page.isReset)
    }

    @Test func `a client reads only values that it may receive`() throws {
        let first = host.connect(uid: 1000)
        first.setValue("user.1000.a", "1")
        first.setValue("b", "2")
        host.run()
        #expect(host.values("user.*.a", ">", uid: 2000).map(\.payload) == ["2"])
        let other = host.connect(uid: 2000)
        let request = other.readValues("user.1000.a")
        host.run()
        #expect(ValueAnswers(other).errors[request]?.code == ErrorCode.forbidden.rawValue)
    }

    @Test func `rights are checked again if the policy changes while a page is read`() throws {
        let client = host.connect()
        client.setValue("a", "1")
        host.run()
        _ = client.take()
        let request = client.readValues(">")
        host.tick()
        let denied = AccessPolicy(rules: [AccessRule(.deny, [.subscribe], names: ["a"], uids: [1000])])
        host.core.broker.policyChanged(to: denied.with(generation: 7))
        #expect(try #require(page(client, request)).values.isEmpty)
    }

    @Test func `a client that reads nothing gets no further page`() {
        let client = host.connect()
        let text = String(repeating: "x", count: 100_000)
        for index in 0..<10 { client.setValue("a.\(index)", text) }
        host.run()
        _ = client.take()
        client.stopTaking()
        for _ in 0..<20 { client.readValues("a.*") }
        host.run()
        let held = host.amount(of: .answerBytes, 1000) + host.amount(of: .blockBytes, 1000)
        #expect(held < 4 << 20)
        client.makeRoom()
        host.run()
        #expect(ValueAnswers(client).pages.count == 20)
    }

    @Test func `a failing store refuses the request`() {
        let client = host.connect()
        let request = client.readValues("a.*")
        host.tick()
        host.work(failingWith: .broken)
        host.runTicks()
        #expect(ValueAnswers(client).errors[request]?.code == ErrorCode.storageFailed.rawValue)
        #expect(host.amount(of: .pendingBytes, 1000) == 0)
    }
}
