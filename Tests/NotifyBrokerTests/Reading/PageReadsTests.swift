import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

struct PageReadsTests {
    typealias Purpose = PageRequest.Purpose

    @Test(arguments: Purpose.allCases)
    func `every purpose has a turn before one purpose has a second turn`(_ first: Purpose) {
        var round = [first]
        while let last = round.last, last.next != first, round.count < 10 { round.append(last.next) }
        #expect(round.count == Purpose.allCases.count)
        #expect(Set(round) == Set(Purpose.allCases))
    }

    @Test(arguments: Purpose.allCases)
    func `the turn passes to the next purpose when a page is requested`(_ purpose: Purpose) {
        var pages = PageReads(readers: LogReaders(ring: TailRing(capacityBytes: 0, floor: 0)))
        #expect(pages.started == nil)
        pages.began(purpose, now: .seconds(1))
        #expect(pages.turn == purpose.next)
        #expect(pages.started == .seconds(1))
        pages.ended()
        #expect(pages.turn == purpose.next)
        #expect(pages.started == nil)
    }

    // MARK: With a broker

    private static let rows = 8

    /// Makes a broker whose pages have one message each, and requests that wait for pages while the first page is read.
    private func hostWithRequests(for purposes: Set<Purpose>) -> (TestHost, poster: Client) {
        var configuration = BrokerConfiguration()
        configuration.tailRingBytes = 0
        let host = TestHost(configuration)
        let poster = host.connect()
        for _ in 1..<Self.rows {
            poster.post("a", .stored)
            host.run()
        }
        poster.setValue("a")
        host.run()
        host.store.pageRows = 1
        let (readers, worker) = ((0..<2).map { _ in host.connect() }, host.connect())
        let others = (0..<Self.rows).map { _ in (reading: host.connect(), tracing: host.connect()) }
        if purposes.contains(.subscription) {
            for reader in readers { reader.subscribe(1, ["a"], durable: "d\(reader.id.slot.rawValue)", from: .oldest) }
            host.runTicks()
            // This commits the attachments of the readers.
            host.work()
        }
        for client in others {
            if purposes.contains(.history) { client.reading.read(["a"], 1...) }
            if purposes.contains(.values) { client.reading.readValues("a") }
            if purposes.contains(.trace) {
                client.tracing.send(TraceRequest(request: client.tracing.nextRequest(), sequence: 1))
            }
        }
        if purposes.contains(.deadLetters) {
            worker.send(DeadLetters(request: worker.nextRequest(), action: .purge))
        }
        host.runTicks()
        return (host, poster)
    }

    /// Completes the requests of the store one by one, and returns the purposes of the pages among them.
    private func workOff(_ host: TestHost) -> [Purpose] {
        var purposes: [Purpose] = []
        while let job = host.store.jobs.first {
            if case .page(let request) = job { purposes.append(request.purpose) }
            host.work()
            host.runTicks()
        }
        return purposes
    }

    @Test func `requests for different purposes take turns`() {
        let (host, _) = hostWithRequests(for: Set(Purpose.allCases))
        let pages = workOff(host)
        for start in 0...Self.rows {
            let round = pages.dropFirst(start).prefix(Purpose.allCases.count)
            #expect(Set(round) == Set(Purpose.allCases), "\(pages) from \(start)")
        }
        #expect(pages.count { $0 == .history } == Self.rows)
        #expect(pages.count { $0 == .trace } == Self.rows)
        #expect(pages.count { $0 == .values } == Self.rows)
        #expect(pages.count { $0 == .deadLetters } == Self.rows)
        #expect(pages.count { $0 == .subscription } == 2 * Self.rows)
    }

    @Test(arguments: Purpose.allCases, Purpose.allCases)
    func `two purposes alternate`(_ one: Purpose, _ other: Purpose) {
        guard one != other else { return }
        let (host, _) = hostWithRequests(for: [one, other])
        let pages = workOff(host)
        #expect(pages.count >= 2 * Self.rows)
        #expect(zip(pages, pages.dropFirst()).prefix(Self.rows).allSatisfy { $0 != $1 }, "\(pages)")
    }

    @Test func `a commit waits for one page at most`() {
        let (host, poster) = hostWithRequests(for: Set(Purpose.allCases))
        func isPage(_ job: FakeStore.Job) -> Bool { if case .page = job { true } else { false } }
        func isCommit(_ job: FakeStore.Job) -> Bool { if case .commit = job { true } else { false } }
        var commits = 0
        for _ in 0..<4 * Purpose.allCases.count {
            poster.post("b", .stored)
            host.runTicks()
            #expect(host.store.jobs.count(where: isPage) == 1)
            if isCommit(host.store.jobs[0]) || host.store.jobs.count > 1 && isCommit(host.store.jobs[1]) {
                commits += 1
            }
            host.work()
        }
        #expect(commits == 4 * Purpose.allCases.count)
    }
}
