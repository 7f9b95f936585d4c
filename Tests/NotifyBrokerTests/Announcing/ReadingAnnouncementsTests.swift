import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Announced values in pages: those read by key, and the changes that watches read.
struct ReadingAnnouncementsTests {
    private let host = TestHost()
    private let run: UInt64 = 3

    private func page(
        _ client: Client, _ request: UInt64, _ host: TestHost? = nil
    ) -> (page: ValuePage, values: [ReadValue])? {
        (host ?? self.host).run()
        return ValueAnswers(client).pages[request]
    }

    @Test func `stored and announced values are read by key, each once`() throws {
        let client = host.connect()
        for name in ["s.1", "s.2"] { client.setValue(name, "x") }
        for name in ["a.1", "a.2", "a.3"] { client.announce(name, "x") }
        host.run()
        _ = client.take()
        var (names, after, through): ([String], UInt64, UInt64) = ([], 0, .max)
        for _ in 0..<10 {
            let next = try #require(
                page(client, client.readValues(">", order: .keys(after: after, through: through), maximum: 2)))
            names += next.values.map(\.name)
            if next.page.isEnd { break }
            if through == .max { through = next.page.lastKey }
            after = next.page.through
        }
        // The first page ends among the stored values. The announced ones come after those.
        if through <= ReadValues.lastStoredKey {
            let order = ReadValues.Order.keys(after: ReadValues.lastStoredKey, through: .max)
            names += try #require(page(client, client.readValues(">", order: order))).values.map(\.name)
        }
        #expect(names == ["s.1", "s.2", "a.1", "a.2", "a.3"])
    }

    @Test func `one value is read by its name and object`() {
        let client = host.connect()
        client.announce("a", object: "o", "1")
        client.announce("a", "2")
        client.announce("b", "3")
        host.run()
        #expect(host.values("a", object: "").map(\.payload) == ["2"])
        #expect(host.values("a", object: "o").map(\.payload) == ["1"])
        #expect(host.values("a").map(\.payload) == ["1", "2"])
        #expect(host.values("a", "b", object: "").map(\.payload) == ["2", "3"])
        #expect(host.values("c", object: "").isEmpty)
    }

    @Test func `a client reads only announced values that it may receive`() {
        let client = host.connect(uid: 1000)
        client.announce("user.1000.a", "1")
        client.announce("b", "2")
        host.run()
        #expect(host.values(">", uid: 2000).map(\.payload) == ["2"])
        #expect(host.values("user.1000.a", ">", uid: 1000).map(\.payload) == ["1", "2"])
    }

    @Test func `a watch gets announced values and their ends at once`() throws {
        let (owner, watcher) = (host.connect(), host.connect())
        var request = watcher.readValues("a", order: .changes(after: 0, announcedAfter: 0, isWaiting: true))
        host.run()
        owner.announce("b", "x")
        owner.announce("a", "1")
        let first = try #require(page(watcher, request))
        #expect(first.values.map(\.description) == ["a=1"] && first.values[0].isEphemeral)
        #expect(first.page.announcedThrough == host.lastSequence && first.page.run == run)
        owner.announce("a", "2")
        host.closed(owner)
        host.run()
        let order = ReadValues.Order.changes(after: 0, announcedAfter: first.page.announcedThrough, isWaiting: true)
        request = watcher.readValues("a", order: order, run: run)
        let second = try #require(page(watcher, request))
        #expect(second.values.map(\.description) == ["a=disconnected"], "only the last state is read")
        #expect(host.amount(of: .pendingBytes, 1000) == 0)
    }

    @Test func `a read by key has the position of the changes that follow`() throws {
        let client = host.connect()
        client.announce("a", "1")
        client.withdraw("a")
        client.announce("b", "2")
        host.run()
        _ = client.take()
        let keys = try #require(page(client, client.readValues(">")))
        #expect(keys.values.map(\.description) == ["b=2"] && keys.page.isEnd)
        #expect(keys.page.announcedThrough == host.lastSequence && keys.page.run == run)
        let order = ReadValues.Order.changes(
            after: keys.page.committedThrough, announcedAfter: keys.page.announcedThrough, isWaiting: false)
        let changes = try #require(page(client, client.readValues(">", order: order, run: run)))
        #expect(changes.values.isEmpty && changes.page.isEnd)
    }

    @Test func `a watch that begins after many ends reaches its end`() throws {
        var configuration = BrokerConfiguration()
        configuration.subscriptionsPerConnection = 20_000
        let host = TestHost(configuration)
        let (owner, client) = (host.connect(), host.connect())
        owner.announce("first", "1")
        for index in 0..<17_500 {
            owner.announce("a.\(index)")
            owner.withdraw("a.\(index)")
            if index % 1_000 == 0 {
                host.run()
                _ = owner.take()
            }
        }
        host.run()
        var (after, through, pages): (UInt64, UInt64, Int) = (0, .max, 0)
        var last = ValuePage(request: 0, epoch: 0, through: 0)
        repeat {
            let order = ReadValues.Order.keys(after: after, through: through)
            last = try #require(page(client, client.readValues(">", order: order), host)).page
            (after, through, pages) = (last.through, last.lastKey, pages + 1)
        } while !last.isEnd && pages < 100
        #expect(last.isEnd)
        let order = ReadValues.Order.changes(
            after: last.committedThrough, announcedAfter: last.announcedThrough, isWaiting: false)
        let changes = try #require(page(client, client.readValues(">", order: order, run: run), host))
        #expect(changes.page.isEnd && !changes.page.isAnnouncedReset)
    }

    @Test func `a watch whose values change all the time reaches its end`() throws {
        let (owner, client) = (host.connect(), host.connect())
        var announcedAfter: UInt64 = 0
        for index in 0..<3 {
            owner.announce("a", "\(index)")
            host.run()
            let order = ReadValues.Order.changes(after: 0, announcedAfter: announcedAfter, isWaiting: false)
            let answer = try #require(page(client, client.readValues("a", order: order, run: run)))
            #expect(answer.values.map(\.payload) == ["\(index)"] && answer.page.isEnd)
            announcedAfter = answer.page.announcedThrough
        }
    }

    @Test func `marks that are forgotten while a page is read reset the watch`() throws {
        var configuration = BrokerConfiguration()
        configuration.subscriptionsPerConnection = 20_000
        let host = TestHost(configuration)
        let (owner, client) = (host.connect(), host.connect())
        client.setValue("s", "1")
        host.run()
        owner.announce("first", "1")
        host.run()
        let position = host.lastSequence
        let request = client.readValues(
            ">", order: .changes(after: 0, announcedAfter: position, isWaiting: false), run: run)
        host.tick()
        owner.withdraw("first")
        for index in 0..<16_385 {
            owner.announce("a.\(index)")
            owner.withdraw("a.\(index)")
            if index % 1_000 == 0 { host.runTicks() }
        }
        host.run()
        #expect(ValueAnswers(client).pages[request]?.page.isAnnouncedReset == true)
    }

    @Test func `the clear of a stored value is read before the announced value that follows`() throws {
        let client = host.connect()
        client.setValue("a", "stored")
        host.run()
        let position = host.lastSequence
        client.clear("a", object: "")
        host.run()
        client.announce("a", "announced")
        host.run()
        _ = client.take()
        let order = ReadValues.Order.changes(after: position, announcedAfter: 0, isWaiting: true)
        let answer = try #require(page(client, client.readValues("a", order: order)))
        #expect(answer.values.map(\.description) == ["a=cleared", "a=announced"])
    }

    @Test func `the end of an announced value is not read after the stored value that follows`() throws {
        let (owner, client) = (host.connect(), host.connect())
        owner.announce("a", "announced")
        host.run()
        let position = host.lastSequence
        host.closed(owner)
        host.run()
        client.setValue("a", "stored")
        host.run()
        _ = client.take()
        let order = ReadValues.Order.changes(after: position, announcedAfter: position, isWaiting: false)
        let answer = try #require(page(client, client.readValues("a", order: order, run: run)))
        #expect(answer.values.map(\.description) == ["a=stored"] && answer.page.isEnd)
    }

    @Test func `changes of announced values do not hold up those of stored ones`() throws {
        let (owner, client) = (host.connect(), host.connect())
        var (after, announcedAfter): (UInt64, UInt64) = (0, 0)
        var stored: [String] = []
        for index in 0..<20 {
            owner.announce("a", "\(index)")
            if index == 3 { client.setValue("s", "stored") }
            host.run()
            _ = client.take()
            let order = ReadValues.Order.changes(after: after, announcedAfter: announcedAfter, isWaiting: true)
            let answer = try #require(page(client, client.readValues(">", order: order, run: run)))
            stored += answer.values.filter { $0.name == "s" }.map(\.payload)
            (after, announcedAfter) = (answer.page.through, answer.page.announcedThrough)
            if index == 3 { #expect(stored == ["stored"]) }
        }
        #expect(stored == ["stored"])
    }

    @Test func `after a restart, announced values are reset`() throws {
        let client = host.connect()
        client.announce("a", "1")
        host.run()
        _ = client.take()
        let order = ReadValues.Order.changes(after: 0, announcedAfter: host.lastSequence, isWaiting: true)
        let answer = try #require(page(client, client.readValues("a", order: order, run: 99)))
        #expect(answer.page.isAnnouncedReset && !answer.page.isReset && answer.values.isEmpty)
        let again = try #require(
            page(
                client,
                client.readValues("a", order: .changes(after: 0, announcedAfter: 0, isWaiting: true), run: run)))
        #expect(again.values.map(\.payload) == ["1"])
    }

    @Test func `a watch that is behind forgotten marks is reset`() throws {
        var configuration = BrokerConfiguration()
        configuration.subscriptionsPerConnection = 20_000
        let host = TestHost(configuration)
        let (owner, client) = (host.connect(), host.connect())
        owner.announce("first", "1")
        host.run()
        let position = host.lastSequence
        for index in 0..<16_385 { owner.announce("a.\(index)") }
        host.run()
        host.closed(owner)
        host.run()
        let order = ReadValues.Order.changes(after: 0, announcedAfter: position, isWaiting: false)
        let answer = try #require(page(client, client.readValues("first", order: order, run: run), host))
        #expect(answer.page.isAnnouncedReset)
    }

    @Test func `many values that do not match are visited in several turns`() throws {
        let (owner, client) = (host.connect(), host.connect())
        for index in 0..<3_000 { owner.announce("a.\(index)") }
        owner.announce("b", "1")
        host.run()
        let order = ReadValues.Order.changes(after: 0, announcedAfter: 0, isWaiting: true)
        let answer = try #require(page(client, client.readValues("b", order: order)))
        #expect(answer.values.map(\.payload) == ["1"])
        #expect(host.values("b", object: "").map(\.payload) == ["1"], "a single value is looked up")
        _ = client.take()
        var (payloads, after, through, pages): ([String], UInt64, UInt64, Int) = ([], 0, .max, 0)
        repeat {
            let order = ReadValues.Order.keys(after: after, through: through)
            let next = try #require(page(client, client.readValues("b", order: order)))
            payloads += next.values.map(\.payload)
            (after, through, pages) = (next.page.through, next.page.lastKey, pages + 1)
            if next.page.isEnd { break }
        } while pages < 10
        #expect(payloads == ["1"] && pages == 3)
    }
}
