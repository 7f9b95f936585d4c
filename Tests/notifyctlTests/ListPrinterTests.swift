import NotifyClient
import NotifyWire
import Testing

@testable import NotifyClient
@testable import notifyctl

@Suite struct ListPrinterTests {
    private let now = ContinuousClock.now

    private func client(_ id: UInt64, posts: UInt64 = 0, delivered: UInt64 = 0) -> NotifyClient.ClientStatus {
        NotifyClient.ClientStatus(
            ClientEntry(
                request: 1, client: id, connectedMicroseconds: 1_000_000_000, uid: 0, gid: 0, pid: 0, subscriptions: 2,
                posts: posts, refused: 1, delivered: delivered, dropped: 3, droppedByClient: 4, waitingBytes: 2048))
    }

    private func cells(_ line: String) -> [String] { line.split(separator: " ").map(String.init) }

    @Test func `a client is one line`() {
        let table = ClientsCommand.table(
            Look(items: [client(7, posts: 5, delivered: 6)], time: now), since: nil, showsRates: false, now: 1_065)
        #expect(
            table.lines.map(cells) == [
                cells("CLIENT USER PID PROGRAM CONNECTED SUBS POSTS DELIVERED DROPPED REFUSED WAITING"),
                cells("7 root 0 - 1m5s 2 5 6 7 1 2KiB"),
            ])
    }

    @Test func `rates are differences between two looks`() {
        let earlier = Look(items: [client(7, posts: 5, delivered: 10)], time: now)
        let later = Look(
            items: [client(7, posts: 25, delivered: 10), client(8, posts: 9)], time: now + .seconds(2))
        let first = ClientsCommand.table(earlier, since: nil, showsRates: true, now: 0)
        #expect(cells(first.lines[1]).suffix(2) == ["-", "-"])
        let table = ClientsCommand.table(later, since: earlier, showsRates: true, now: 0)
        #expect(table.lines.map { cells($0).suffix(2) } == [["POSTS/S", "DELIVERED/S"], ["10", "0"], ["-", "-"]])
    }

    @Test func `a subscription is one line`() {
        let durable = SubscriptionEntry(
            request: 1, uid: 0, client: 7, cursor: 9, behind: 12, acknowledged: 30, unacknowledged: 2,
            durableName: "billing", object: "shop", patterns: ["a", "b.>"])
        let items = [durable, SubscriptionEntry(request: 1, uid: 0, client: 7, patterns: ["c"])]
        let look = Look(items: items.map { NotifyClient.SubscriptionStatus($0) }, time: now)
        #expect(
            SubscriptionsCommand.table(look, since: nil, showsRates: false).lines.map(cells) == [
                cells("DURABLE USER CLIENT PID PROGRAM BEHIND UNACKED OBJECT PATTERNS"),
                cells("billing root 7 0 - 12 2 shop a b.>"), cells("- root 7 0 - - - - c"),
            ])
        var grown = durable
        grown.acknowledged = 50
        let later = Look(items: [NotifyClient.SubscriptionStatus(grown)], time: now + .seconds(2))
        #expect(
            cells(SubscriptionsCommand.table(later, since: look, showsRates: true).lines[1])
                == cells("billing root 7 0 - 12 2 10 shop a b.>"))
    }

    @Test func `a name is one line, and the most posted name is the first`() {
        func name(_ name: String, _ posts: UInt64) -> NotifyClient.NameStatus {
            NotifyClient.NameStatus(
                NameEntry(
                    request: 1, posts: posts, payloadBytes: 2048, dropped: 3, subscribers: 4, durables: 5, name: name))
        }
        let earlier = Look(items: [name("a", 10)], time: now)
        let later = Look(items: [name("a", 30), name("b", 40)], time: now + .seconds(2))
        #expect(
            NamesCommand.table(later, since: earlier).lines.map(cells) == [
                cells("POSTS POSTS/S BYTES DROPPED SUBSCRIBERS DURABLES NAME"),
                cells("40 20 2KiB 3 4 5 b"), cells("30 10 2KiB 3 4 5 a"),
            ])
    }

    @Test func `a table that does not fit the terminal is cut`() {
        let screen = Screen(rows: 4, columns: 5)
        #expect(screen.redrawing(["abcdefg", "b"]) == "\u{1B}[H\u{1B}[Kabcde\n\u{1B}[Kb\n\u{1B}[J")
        #expect(
            Screen(rows: 4, columns: 20).redrawing(["1", "2", "3", "4", "5"])
                == "\u{1B}[H\u{1B}[K1\n\u{1B}[K2\n\u{1B}[Kand 3 more\n\u{1B}[J")
    }

    @Test func `the program of a process is read from proc`() {
        #expect(ProcessNames.program(of: 0) == nil)
        #expect(ProcessNames.program(of: 1) != nil)
        #expect(ProcessNames.program(of: .max) == nil)
    }
}
