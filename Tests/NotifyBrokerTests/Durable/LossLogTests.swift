import NotifyLog
import Testing

@testable import NotifyBroker

@Suite struct LossLogTests {
    private func loss(_ sequences: ClosedRange<UInt64>) -> Loss {
        Loss(
            first: sequences.lowerBound, last: sequences.upperBound, count: UInt64(sequences.count),
            isUpperBound: false)
    }

    @Test func `later losses of a minute are added up, and logged at the end of the minute`() {
        var log = LossLog()
        let id = DurableID(1)
        let first = log.lost(loss(1...4), of: id, .rules, now: .seconds(1))
        #expect(first == LossLog.Report(id: id, loss: loss(1...4), reason: .rules))
        let later = [
            log.lost(loss(5...6), of: id, .rules, now: .seconds(2)),
            log.lost(loss(7...9), of: id, .backlog, now: .seconds(60)),
        ]
        #expect(later == [nil, nil])
        #expect(log.deadline == .seconds(61))
        let early = log.takeDue(now: .seconds(60))
        #expect(early.reports.isEmpty)
        for end in [61, 121] {
            let due = log.takeDue(now: .seconds(end))
            let sum = LossLog.Report(id: id, loss: loss(5...9), reason: .backlog, isLater: true)
            #expect(due.reports == (end == 61 ? [sum] : []) && due.others == 0)
        }
        #expect(log.deadline == nil)
        let next = log.lost(loss(20...20), of: id, .purge, now: .seconds(122))
        #expect(next == LossLog.Report(id: id, loss: loss(20...20), reason: .purge))
    }

    @Test func `ten subscriptions are named in a second, and the others are counted`() {
        var log = LossLog()
        let named = (UInt32(1)...100).filter {
            log.lost(loss(1...1), of: DurableID($0), .rules, now: .seconds(1)) != nil
        }
        #expect(named.count == 10)
        let again = log.lost(loss(2...2), of: DurableID(50), .rules, now: .milliseconds(1_001))
        #expect(again == nil)
        #expect(log.deadline == .seconds(2))
        let due = log.takeDue(now: .seconds(2))
        #expect(due.reports.isEmpty && due.others == 90)
        let late = log.lost(loss(3...3), of: DurableID(50), .rules, now: .seconds(2))
        #expect(late != nil, "the subscription is named later")
    }

    @Test func `losses of further subscriptions are counted in one line per minute`() {
        var log = LossLog()
        var lines: [(Int, others: Int)] = []
        for second in 1...150 {
            for id in UInt32(1)...30 {
                _ = log.lost(loss(1...1), of: DurableID(UInt32(second) * 100 + id), .rules, now: .seconds(second))
            }
            let due = log.takeDue(now: .seconds(second))
            if due.others > 0 { lines.append((second, due.others)) }
        }
        #expect(lines.map(\.0) == [2, 62, 122])
        #expect(lines.map(\.others) == [40, 1200, 1200])
    }

    @Test func `subscriptions above the limit are counted, too, if their minutes end together`() {
        var log = LossLog()
        for time in [1, 2, 3] {
            for id in UInt32(1)...25 { _ = log.lost(loss(1...1), of: DurableID(id), .rules, now: .seconds(time)) }
        }
        // The subscriptions are named at 1, 2 and 3 s, and all their minutes end in one call.
        let due = log.takeDue(now: .seconds(70))
        #expect(due.reports.count == 10)
        let last = log.takeDue(now: .seconds(71))
        #expect(due.others + last.others >= 25 - 10)
    }

    @Test func `a stop logs all pending losses, except those of removed subscriptions`() {
        var log = LossLog()
        for id in UInt32(1)...12 {
            for _ in 1...2 { _ = log.lost(loss(1...1), of: DurableID(id), .rules, now: .seconds(1)) }
        }
        log.removed(DurableID(1))
        log.removed(DurableID(12))
        let all = log.takeAll()
        #expect(all.reports.map(\.id.rawValue) == Array(2...10) && all.others == 1)
        #expect(log.deadline == nil)
    }

    @Test func `the losses to a purge in parts are logged once, at the end of the purge`() {
        var log = LossLog()
        let (id, other) = (DurableID(1), DurableID(2))
        _ = log.lost(loss(1...1), of: other, .rules, now: .seconds(1))
        for part in [loss(8...9), loss(5...7)] { log.purged(part, of: id, now: .seconds(1)) }
        log.purged(loss(2...4), of: other, now: .seconds(1))
        log.purged(loss(2...4), of: DurableID(3), now: .seconds(1))
        log.removed(DurableID(3))
        let ended = log.purgeEnded(now: .seconds(2))
        #expect(ended == [LossLog.Report(id: id, loss: loss(5...9), reason: .purge)])
        let repeated = log.purgeEnded(now: .seconds(3))
        #expect(repeated.isEmpty)
        let due = log.takeDue(now: .seconds(61))
        #expect(due.reports == [LossLog.Report(id: other, loss: loss(2...4), reason: .purge, isLater: true)])
    }

    @Test func `a stop during a purge logs the losses so far`() {
        var log = LossLog()
        for id in UInt32(1)...12 { log.purged(loss(1...4), of: DurableID(id), now: .seconds(1)) }
        let all = log.takeAll()
        #expect(all.reports.map(\.id.rawValue) == Array(1...10) && all.others == 2)
    }

    @Test func `messages deleted to make room are logged once a minute`() {
        var log = LossLog()
        let times: [Duration] = [.seconds(1), .seconds(60), .seconds(61)]
        let logged = times.map { log.logsRoom(now: $0) }
        #expect(logged == [true, false, true])
    }
}
