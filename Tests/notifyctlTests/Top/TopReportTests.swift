import NotifyWire
import Testing

@testable import NotifyClient
@testable import notifyctl

@Suite struct TopReportTests {
    private func row(_ name: String, _ total: UInt64) -> TopRow { TopSamples.row(name, total: total) }

    @Test func `rates are differences between two reports of a row`() {
        let earlier = TopSamples.report([row("a", 10), row("b", 100), row("gone", 1)])
        let later = TopSamples.report([row("b", 140), row("a", 4), row("new", 9)], after: 2)
        #expect(
            later.rows(since: earlier).map { $0.cells[3] } == [.number(20), .number(2), .total(9)],
            "a lower count has restarted at 0")
        #expect(later.rows(since: nil).map { $0.cells[3].text } == ["-", "-", "-"])
    }

    @Test func `a new row that starts at zero has rates`() {
        var row = row("new", 9)
        row.startsAtZero = true
        let later = TopSamples.report([row], after: 3)
        #expect(later.rows(since: TopSamples.report())[0].cells[3] == .number(3))
        #expect(later.rows(since: nil)[0].cells[3] == .total(9))
    }

    @Test func `a posted name is a row`() {
        let entry = NameEntry(
            request: 1, posts: 10, payloadBytes: 300, dropped: 2, subscribers: 3, durables: 4, name: "a.b")
        let row = TopView.rows(of: [Administration.NameStatus(entry)])[0]
        #expect(row.cells == [.text("a.b"), .total(10), .total(300), .total(2), .number(3), .number(4)])
        #expect(row.cells.count == TopView.names.columns.count && row.startsAtZero)
    }

    @Test func `the reports of different views are not compared`() {
        let earlier = TopSamples.report([row("a", 10)], of: "others")
        #expect(TopSamples.report([row("a", 30)], after: 1).rows(since: earlier) == [row("a", 30)])
    }

    @Test func `the figures of the daemon are its counters and rates`() {
        let counters: [String: UInt64] = [
            "uptime_seconds": 65, "connections": 3, "messages_in": 100, "delivered": 400, "stored": 10, "dropped": 1,
            "dropped_by_clients": 2, "memory_bytes": 2048, "memory_limit_bytes": 1 << 30, "forbidden": 7,
        ]
        #expect(Set(counters.keys).isSubset(of: Statistic.allCases.map(\.rawValue)))
        let first = TopSamples.report(counters: counters.mapValues { _ in 0 })
        let second = TopSamples.report(of: "others", counters: counters, after: 0.5)
        #expect(
            second.figures(since: first) == [
                "notifyd 1.2", "up 1m5s", "connections 3", "in 200/s", "delivered 800/s", "stored 20/s", "dropped 6/s",
                "memory 2KiB of 1GiB", "forbidden 7",
            ])
        #expect(second.figures(since: nil).contains("in -/s"))
    }

    @Test func `figures that the daemon does not have are unknown`() {
        let figures = TopSamples.report().figures(since: TopSamples.report())
        #expect(figures.dropFirst().allSatisfy { $0.contains("-") })
    }

    @Test func `a client is a row, and a reused client number is another row`() {
        func client(_ id: UInt64, connected: UInt64, posts: UInt64) -> Administration.ClientStatus {
            Administration.ClientStatus(
                ClientEntry(
                    request: 1, client: id, connectedMicroseconds: connected, uid: 0, gid: 0, pid: 0, subscriptions: 2,
                    posts: posts, refused: 1, delivered: 9, dropped: 3, droppedByClient: 4, waitingBytes: 2048))
        }
        let rows = TopView.rows(of: [client(7, connected: 1, posts: 5)])
        #expect(
            rows[0].cells == [
                .identifier(7), .text("root"), .identifier(0), .none, .total(5), .total(9), .total(7),
                .bytes(2048), .number(7), .number(1),
            ])
        #expect(rows[0].cells.count == TopView.clients.columns.count)
        #expect(TopView.rows(of: [client(7, connected: 2, posts: 5)])[0].id != rows[0].id)
        #expect(TopView.rows(of: [client(7, connected: 1, posts: 6)])[0].id == rows[0].id)
    }

    @Test func `durable and volatile subscriptions and servers are rows`() {
        let entries = [
            SubscriptionEntry(
                request: 1, uid: 0, client: 7, cursor: 9, behind: 12, acknowledged: 30, unacknowledged: 2,
                durableName: "billing", object: "shop", patterns: ["a", "b.>"]),
            SubscriptionEntry(request: 1, uid: 0, client: 8, patterns: ["c"]),
            SubscriptionEntry(request: 1, uid: 0, durableName: "idle", patterns: ["c"]),
            SubscriptionEntry(
                request: 1, uid: 0, behind: 12, isBehindUpperBound: true, durableName: "shop", object: "shop",
                patterns: ["c"]),
            SubscriptionEntry(request: 1, uid: 0, client: 9, unacknowledged: 2, concurrency: 4, patterns: ["d"]),
        ]
        let rows = TopView.rows(of: entries.map { Administration.SubscriptionStatus($0) })
        #expect(
            rows[0].cells == [
                .text("durable"), .text("billing"), .text("root"), .identifier(0), .none, .number(12), .total(30),
                .text("a b.>"), .number(2), .none, .identifier(7), .text("shop"),
            ])
        #expect(
            rows[1].cells == [
                .text("volatile"), .none, .text("root"), .identifier(0), .none, .none, .none, .text("c"), .none, .none,
                .identifier(8), .none,
            ])
        #expect([3, 4, 10].map { rows[2].cells[$0] } == [.none, .none, .none])
        #expect(rows[3].cells[5] == .atMost(12) && rows[3].cells[5].text == "<=12")
        #expect(
            rows[4].cells == [
                .text("server"), .none, .text("root"), .identifier(0), .none, .none, .none, .text("d"), .number(2),
                .number(4), .identifier(9), .none,
            ])
        #expect(rows[0].cells.count == TopView.subscriptions.columns.count)
    }
}
