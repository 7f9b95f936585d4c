import TestSupport
import Testing

@testable import NotifyCenter

@Suite struct RateLimitStateTests {
    /// Runs a rate limit and its timer, with numbers as times and payloads.
    private struct Run {
        private var limit: RateLimitState
        private var wakeUp: Duration?
        private(set) var now = Duration.zero
        private(set) var delivered: [String] = []

        init(_ rule: RateLimitState.Rule) { limit = RateLimitState(rule) }

        var isTimerRunning: Bool { wakeUp != nil }

        /// Advances the time, and runs the timer whenever it is due.
        mutating func advance(to time: Int) {
            let time = Duration.milliseconds(time)
            while let wakeUp, wakeUp <= time {
                now = max(now, wakeUp)
                runTimer()
            }
            now = max(now, time)
        }

        mutating func post(_ payload: Int, at time: Int) {
            advance(to: time)
            arrive(payload)
        }

        @discardableResult
        mutating func arrive(_ payload: Int) -> Int? {
            let (arrival, dropped) = limit.arrived(note(payload), at: now)
            switch arrival {
            case .deliver: deliver(note(payload))
            case .nothing: break
            case .startTimer:
                #expect(wakeUp == nil, "at most one timer runs")
                wakeUp = now
                runTimer()
            }
            return dropped?.payload as? Int
        }

        mutating func runTimer(during call: (inout Run) -> Void = { _ in }) {
            while true {
                switch limit.timerIsDue(at: now) {
                case .sleep(let due):
                    #expect(due > now)
                    wakeUp = due
                    return
                case .deliver(let notification):
                    deliver(notification)
                    call(&self)
                case .stop:
                    wakeUp = nil
                    return
                }
            }
        }

        /// Advances the time until the timer is due, and runs the timer. Each call of the observer takes `duration`
        /// milliseconds. The first call runs `body`.
        mutating func call(taking duration: Int, _ body: (inout Run) -> Void) {
            now = wakeUp ?? now
            var isFirst = true
            runTimer { run in
                if isFirst { body(&run) }
                isFirst = false
                run.now += .milliseconds(duration)
            }
        }

        /// Advances the time without running the timer, as if the timer were late or busy.
        mutating func pass(_ time: Duration) { now += time }

        mutating func failTimer() {
            wakeUp = nil
            limit.timerFailed()
        }

        mutating func close() -> (isTimerSleeping: Bool, dropped: Int?) {
            let (isTimerSleeping, dropped) = limit.close()
            return (isTimerSleeping, dropped?.payload as? Int)
        }

        private mutating func deliver(_ notification: LocalNotification) {
            delivered.append("\(notification.payload as? Int ?? -1) at \(Int(now / .milliseconds(1)))")
        }

        private func note(_ payload: Int) -> LocalNotification {
            LocalNotification(name: NotificationName(literal: "a"), payload: payload)
        }
    }

    private let debounced = RateLimitState.Rule.debounced(.milliseconds(100))
    private let latest = RateLimitState.Rule.throttled(.milliseconds(100), latest: true)
    private let first = RateLimitState.Rule.throttled(.milliseconds(100), latest: false)

    // MARK: Debounce

    @Test func `debouncing delivers the last of a burst`() {
        var run = Run(debounced)
        run.post(1, at: 0)
        run.post(2, at: 99)
        run.post(3, at: 198)
        run.advance(to: 297)
        #expect(run.delivered == [])
        run.advance(to: 1_000)
        #expect(run.delivered == ["3 at 298"])
        #expect(!run.isTimerRunning)
    }

    @Test func `each burst delivers its own last notification`() {
        var run = Run(debounced)
        for (payload, time) in [(1, 0), (2, 50), (3, 151), (4, 260), (5, 1_000)] { run.post(payload, at: time) }
        run.advance(to: 2_000)
        #expect(run.delivered == ["2 at 150", "3 at 251", "4 at 360", "5 at 1100"])
    }

    @Test func `a notification exactly one interval later begins a new burst`() {
        var run = Run(debounced)
        run.post(1, at: 0)
        run.post(2, at: 100)
        run.advance(to: 200)
        #expect(run.delivered == ["1 at 100", "2 at 200"])
    }

    @Test func `a timer that fires during a burst keeps waiting`() {
        var run = Run(debounced)
        run.post(1, at: 0)
        run.advance(to: 99)
        run.arrive(2)
        run.advance(to: 150)
        #expect(run.delivered == [])
        run.advance(to: 199)
        #expect(run.delivered == ["2 at 199"])
    }

    @Test func `clock readings out of order do not shorten the interval`() {
        var limit = RateLimitState(debounced)
        let note = LocalNotification(name: NotificationName(literal: "a"))
        _ = limit.arrived(note, at: .milliseconds(50))
        _ = limit.arrived(note, at: .milliseconds(40))
        guard case .sleep(let due) = limit.timerIsDue(at: .milliseconds(50)) else {
            Issue.record("the timer does not sleep")
            return
        }
        #expect(due == .milliseconds(150))
    }

    @Test func `with a zero interval, the timer delivers immediately`() {
        var run = Run(.debounced(.zero))
        run.post(1, at: 5)
        run.post(2, at: 5)
        #expect(run.delivered == ["1 at 5", "2 at 5"])
    }

    // MARK: Throttle

    @Test func `throttling delivers the first, then the latest of each interval`() {
        var run = Run(latest)
        for (payload, time) in [(1, 10), (2, 20), (3, 109), (4, 120), (5, 130)] { run.post(payload, at: time) }
        run.advance(to: 1_000)
        #expect(run.delivered == ["1 at 10", "3 at 110", "5 at 210"])
        #expect(!run.isTimerRunning)
    }

    @Test func `throttling may deliver the first of each interval`() {
        var run = Run(first)
        for (payload, time) in [(1, 10), (2, 20), (3, 109), (4, 120), (5, 130)] { run.post(payload, at: time) }
        run.advance(to: 1_000)
        #expect(run.delivered == ["1 at 10", "2 at 110", "4 at 210"])
    }

    @Test func `after a quiet interval, the next notification is delivered immediately`() {
        for rule in [latest, first] {
            var run = Run(rule)
            for (payload, time) in [(1, 0), (2, 100), (3, 150), (4, 300), (5, 401)] { run.post(payload, at: time) }
            run.advance(to: 1_000)
            #expect(run.delivered == ["1 at 0", "2 at 100", "3 at 200", "4 at 300", "5 at 401"])
        }
    }

    @Test func `nothing is delivered during the timer's call`() {
        for (rule, payload) in [(latest, 5), (first, 3)] {
            var run = Run(rule)
            run.post(1, at: 0)
            run.post(2, at: 10)
            run.call(taking: 500) { run in
                for payload in 3...5 { run.arrive(payload) }
            }
            #expect(run.delivered == ["1 at 0", "2 at 100", "\(payload) at 600"])
        }
    }

    @Test func `notifications during a call longer than the interval wait for the call's end`() {
        for rule in [latest, first] {
            var run = Run(rule)
            run.post(1, at: 0)
            run.post(2, at: 10)
            run.call(taking: 500) { run in
                run.pass(.milliseconds(300))
                run.arrive(3)
            }
            #expect(run.delivered == ["1 at 0", "2 at 100", "3 at 900"])
        }
    }

    @Test func `a notification before a late timer does not overtake the pending one`() {
        var run = Run(first)
        run.post(1, at: 0)
        run.post(2, at: 10)
        run.pass(.milliseconds(200))
        run.arrive(3)
        #expect(run.delivered == ["1 at 0"])
        run.runTimer()
        #expect(run.delivered == ["1 at 0", "2 at 210"])
    }

    // MARK: Both

    @Test func `a replaced notification is returned`() {
        var run = Run(debounced)
        #expect(run.arrive(1) == nil)
        #expect(run.arrive(2) == 1)
        run = Run(latest)
        #expect(run.arrive(1) == nil)
        #expect(run.arrive(2) == nil)
        #expect(run.arrive(3) == 2)
        run = Run(first)
        #expect(run.arrive(1) == nil)
        #expect(run.arrive(2) == nil)
        #expect(run.arrive(3) == nil)
    }

    @Test func `nothing is delivered after the end`() {
        for rule in [debounced, latest, first] {
            var run = Run(rule)
            run.arrive(1)
            run.arrive(2)
            let (isTimerSleeping, dropped) = run.close()
            #expect(isTimerSleeping)
            #expect(dropped == 2)
            let before = run.delivered
            run.post(3, at: 1_000)
            run.advance(to: 2_000)
            #expect(run.delivered == before)
            #expect(!run.isTimerRunning)
            #expect(run.close() == (false, nil))
        }
    }

    @Test func `closing during the timer's call reports no sleeping timer`() {
        for rule in [debounced, latest, first] {
            var run = Run(rule)
            run.arrive(1)
            run.arrive(2)
            var closing: (isTimerSleeping: Bool, dropped: Int?) = (true, nil)
            run.call(taking: 1) { run in
                run.arrive(3)
                closing = run.close()
            }
            #expect(closing == (false, 3))
            #expect(!run.isTimerRunning)
        }
    }

    @Test func `a failed timer is started again`() {
        var run = Run(debounced)
        run.post(1, at: 0)
        run.failTimer()
        run.post(2, at: 150)
        run.advance(to: 250)
        #expect(run.delivered == ["2 at 250"])
        run = Run(latest)
        run.post(1, at: 0)
        run.post(2, at: 10)
        run.failTimer()
        run.post(3, at: 150)
        run.post(4, at: 160)
        run.advance(to: 1_000)
        #expect(run.delivered == ["1 at 0", "3 at 150", "4 at 250"])
        run = Run(first)
        run.post(1, at: 0)
        run.post(2, at: 10)
        run.failTimer()
        // The next notification replaces the pending one and is delivered immediately.
        #expect(run.delivered == ["1 at 0"])
        run.post(3, at: 150)
        run.post(4, at: 160)
        run.advance(to: 1_000)
        #expect(run.delivered == ["1 at 0", "3 at 150", "4 at 250"])
    }

    // MARK: Random times

    @Test func `random times agree with the rule`() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("RateLimitStateTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            var times: [Int] = []
            for _ in 0..<30 { times.append((times.last ?? 0) + Int.random(in: 0...150, using: &random)) }
            for (rule, expected) in [
                (debounced, Self.debounce(times)),
                (latest, Self.throttle(times, latest: true)),
                (first, Self.throttle(times, latest: false)),
            ] {
                var run = Run(rule)
                for (payload, time) in times.enumerated() { run.post(payload, at: time) }
                run.advance(to: 10_000)
                #expect(run.delivered == expected, "\(rule) at \(times)")
            }
        }
    }

    private static func debounce(_ times: [Int]) -> [String] {
        times.indices
            .filter { $0 + 1 == times.count || times[$0 + 1] - times[$0] >= 100 }
            .map { "\($0) at \(times[$0] + 100)" }
    }

    private static func throttle(_ times: [Int], latest: Bool) -> [String] {
        var calls: [String] = []
        var next = 0
        var open = 0
        while next < times.count {
            let isLate = times[next] >= open
            let call = isLate ? times[next] : open
            // A notification that arrives after the interval is delivered immediately. Any other call covers all
            // notifications that arrived before the call.
            let end = isLate ? next + 1 : times[next...].firstIndex { $0 >= open } ?? times.count
            calls.append("\(latest ? end - 1 : next) at \(call)")
            next = end
            open = call + 100
        }
        return calls
    }
}
