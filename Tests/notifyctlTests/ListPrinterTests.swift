import NotifyClient
import NotifyWire
import Testing

@testable import NotifyClient
@testable import notifyctl

@Suite struct ListPrinterTests {
    private let now = ContinuousClock.now

    private func client(_ id: UInt64, posts: UInt64 = 0, delivered: UInt64 = 0) -> Administration.ClientStatus {
        Administration.ClientStatus(
            ClientEntry(
                request: 1, client: id, connectedMicroseconds: 1_000_000_000, uid: 0, gid: 0, pid: 0, subscriptions: 2,
                posts: posts, refused: 1, delivered: delivered, dropped: 3, droppedByClient: 4, waitingBytes: 2048))
    }

    private func cells(_ line: String) -> [String] { line.split(separator: " ").map(String.init) }

    @Test func `a client is one line`() {
        let table = ClientsCommand.table(
            Look(items: [client(7, posts: 5, delivered: 6)], time: now), since: nil, showsRates: false, now: 1_065)
        #expect(
            table.lines().map(cells) == [
                cells("CLIENT USER PID PROGRAM DROPPED WAITING SUBS POSTS DELIVERED CONNECTED REFUSED"),
                cells("7 root 0 - 7 2KiB 2 5 6 1m5s 1"),
            ])
    }

    @Test func `rates are differences between two lists`() {
        let earlier = Look(items: [client(7, posts: 5, delivered: 10)], time: now)
        let later = Look(
            items: [client(7, posts: 25, delivered: 10), client(8, posts: 9)], time: now + .seconds(2))
        let first = ClientsCommand.table(earlier, since: nil, showsRates: true, now: 0)
        #expect(cells(first.lines()[1])[4...5] == ["-", "-"])
        let table = ClientsCommand.table(later, since: earlier, showsRates: true, now: 0)
        #expect(table.lines().map { cells($0)[4...5] } == [["POSTS/S", "DELIVERED/S"], ["10", "0"], ["-", "-"]])
    }

    @Test func `a subscription is one line`() {
        let durable = SubscriptionEntry(
            request: 1, uid: 0, client: 7, cursor: 9, behind: 12, acknowledged: 30, unacknowledged: 2,
            durableName: "billing", object: "shop", patterns: ["a", "b.>"])
        let items = [
            durable, SubscriptionEntry(request: 1, uid: 0, client: 7, patterns: ["c"]),
            SubscriptionEntry(request: 1, uid: 0, client: 7, unacknowledged: 1, concurrency: 4, patterns: ["jobs.*"]),
        ]
        let look = Look(items: items.map { Administration.SubscriptionStatus($0) }, time: now)
        #expect(
            SubscriptionsCommand.table(look, since: nil, showsRates: false).lines().map(cells) == [
                cells("KIND DURABLE USER PID PROGRAM BEHIND PATTERNS UNACKED CONCURRENCY CLIENT OBJECT"),
                cells("durable billing root 0 - 12 a b.> 2 - 7 shop"), cells("volatile - root 0 - - c - - 7 -"),
                cells("server - root 0 - - jobs.* 1 4 7 -"),
            ])
        var bound = durable
        bound.isBehindUpperBound = true
        let bounds = Look(items: [Administration.SubscriptionStatus(bound)], time: now)
        #expect(cells(SubscriptionsCommand.table(bounds, since: nil, showsRates: false).lines()[1])[5] == "<=12")
        var grown = durable
        grown.acknowledged = 50
        let later = Look(items: [Administration.SubscriptionStatus(grown)], time: now + .seconds(2))
        #expect(
            cells(SubscriptionsCommand.table(later, since: look, showsRates: true).lines()[1])
                == cells("durable billing root 0 - 12 10 a b.> 2 - 7 shop"))
    }

    @Test func `a name is one line, and the most posted name is the first`() {
        func name(_ name: String, _ posts: UInt64) -> Administration.NameStatus {
            Administration.NameStatus(
                NameEntry(
                    request: 1, posts: posts, payloadBytes: 2048, dropped: 3, subscribers: 4, durables: 5, name: name))
        }
        let earlier = Look(items: [name("a", 10)], time: now)
        let later = Look(items: [name("a", 30), name("b", 40)], time: now + .seconds(2))
        #expect(
            NamesCommand.table(later, since: earlier).lines().map(cells) == [
                cells("NAME POSTS POSTS/S BYTES DROPPED SUBSCRIBERS DURABLES"),
                cells("b 40 20 2KiB 3 4 5"), cells("a 30 10 2KiB 3 4 5"),
            ])
    }

    @Test func `the program of a process is read from proc`() {
        #expect(ProcessNames.program(of: 0) == nil)
        #expect(ProcessNames.program(of: 1) != nil)
        #expect(ProcessNames.program(of: .max) == nil)
    }
}
