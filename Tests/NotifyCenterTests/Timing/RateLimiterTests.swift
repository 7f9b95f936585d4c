import TestSupport
import Testing

@testable import NotifyCenter

@Suite(.timeLimit(.minutes(25))) struct RateLimiterTests {
    private let center = LocalCenter()
    private let clock = ManualClock()
    private let calls = Collector<String>()
    private let name = NotificationName(literal: "changed")
    private let other = NotificationName(literal: "other")

    private final class Owner: Sendable {}

    private struct Edited: NotificationMessage {
        static let notificationName = NotificationName(literal: "changed")
        let line: Int
    }

    private var debounced: ObservationOptions { .debounced(for: .milliseconds(100), clock: clock) }
    private var throttled: ObservationOptions { .throttled(for: .milliseconds(100), clock: clock) }

    private func advance(to milliseconds: Int) { clock.advance(to: .milliseconds(milliseconds)) }

    private func waitForSleeper(until milliseconds: Int) async {
        await clock.waitForSleeper(until: .milliseconds(milliseconds))
    }

    private func observe(_ options: ObservationOptions) -> ObservationToken {
        center.observe(name, options: options) { [calls] in calls.note($0) }
    }

    // MARK: Times of delivery

    @Test func `a debounced observer gets the last of a burst`() async {
        let token = observe(debounced)
        center.post(name, payload: 1)
        await waitForSleeper(until: 100)
        advance(to: 60)
        center.post(name, payload: 2)
        advance(to: 100)
        await waitForSleeper(until: 160)
        #expect(calls.values == [])
        advance(to: 160)
        #expect(await calls.values(1) == ["changed 2"])
        advance(to: 1_000)
        center.post(name, payload: 3)
        await waitForSleeper(until: 1_100)
        advance(to: 1_100)
        #expect(await calls.values(2) == ["changed 2", "changed 3"])
        token.cancel()
    }

    @Test func `a throttled observer gets the first immediately and then the latest`() async {
        let token = observe(throttled)
        for payload in 1...3 { center.post(name, payload: payload) }
        #expect(calls.values == ["changed 1"])
        await waitForSleeper(until: 100)
        advance(to: 100)
        #expect(await calls.values(2) == ["changed 1", "changed 3"])
        advance(to: 200)
        center.post(name, payload: 4)
        #expect(await calls.values(3) == ["changed 1", "changed 3", "changed 4"])
        token.cancel()
    }

    @Test func `a throttled observer may get the first of each interval`() async {
        let token = observe(.throttled(for: .milliseconds(100), latest: false, clock: clock))
        for payload in 1...3 { center.post(name, payload: payload) }
        await waitForSleeper(until: 100)
        advance(to: 100)
        #expect(await calls.values(2) == ["changed 1", "changed 2"])
        token.cancel()
    }

    @Test func `with a zero interval, every notification is delivered immediately`() {
        let token = observe(.throttled(for: .zero, clock: clock))
        for payload in 1...3 { center.post(name, payload: payload) }
        #expect(calls.values == ["changed 1", "changed 2", "changed 3"])
        token.cancel()
    }

    @Test func `the default clock is used unless one is given`() async {
        let token = observe(.debounced(for: .nanoseconds(1)))
        center.post(name, payload: 1)
        #expect(await calls.values(1) == ["changed 1"])
        token.cancel()
    }

    @Test func `an interval may exceed the range of the clock`() {
        let tokens = [observe(.debounced(for: .seconds(Int64.max))), observe(.throttled(for: .seconds(Int64.max)))]
        for payload in 1...3 { center.post(name, payload: payload) }
        #expect(calls.values == ["changed 1"])
        for token in tokens { token.cancel() }
    }

    @Test func `each observation has its own rate limit`() async {
        let options = throttled
        let first = observe(options)
        center.post(name, payload: 1)
        let second = observe(options)
        center.post(name, payload: 2)
        #expect(calls.values == ["changed 1", "changed 2"])
        await waitForSleeper(until: 100)
        advance(to: 100)
        #expect(await calls.values(3) == ["changed 1", "changed 2", "changed 2"])
        first.cancel()
        second.cancel()
    }

    @Test func `names and objects of an observation share its rate limit`() async {
        let token = center.observe(.every, options: debounced) { [calls] in calls.note($0) }
        center.post(name, object: "a", payload: 1)
        center.post(other, object: "b", payload: 2)
        await waitForSleeper(until: 100)
        advance(to: 100)
        #expect(await calls.values(1) == ["other of b 2"])
        token.cancel()
    }

    @Test func `an observer may post to itself`() async {
        let token = center.observe(name, options: throttled) { [calls, center] in
            calls.note($0)
            if let payload = $0.payload as? Int, payload < 3 { center.post($0.name, payload: payload + 1) }
        }
        center.post(name, payload: 1)
        for time in [100, 200] {
            await waitForSleeper(until: time)
            advance(to: time)
        }
        #expect(await calls.values(3) == ["changed 1", "changed 2", "changed 3"])
        token.cancel()
    }

    // MARK: Together with other options

    @Test func `an owner is passed to its closure`() async {
        let owner = Owner()
        center.observe(name, owner: owner, options: debounced) { [calls] handed, notification in
            calls.note(notification, "by \(ObjectIdentifier(handed))")
        }
        center.post(name, payload: 1)
        await waitForSleeper(until: 100)
        advance(to: 100)
        #expect(await calls.values(1) == ["changed 1 by \(ObjectIdentifier(owner))"])
    }

    @Test func `a pending notification does not retain the owner`() async {
        var owner: Owner? = Owner()
        weak let watched = owner
        if let owner { center.observe(name, owner: owner, options: debounced) { [calls] in calls.note($1) } }
        center.post(name)
        await waitForSleeper(until: 100)
        owner = nil
        #expect(watched == nil)
        let token = observe(debounced)
        center.post(name, payload: 1)
        advance(to: 100)
        #expect(await calls.values(1) == ["changed 1"])
        #expect(center.observationCount == 1)
        token.cancel()
    }

    @Test func `the delayed call of a released owner ends the observation`() async {
        final class Captured: Sendable {
            let gone: Collector<String>
            init(_ gone: Collector<String>) { self.gone = gone }
            deinit { gone.add("gone") }
        }
        var owner: Owner? = Owner()
        if let owner {
            center.observe(name, owner: owner, options: debounced) { [captured = Captured(calls)] _, _ in
                withExtendedLifetime(captured) {}
            }
        }
        center.post(name)
        await waitForSleeper(until: 100)
        owner = nil
        #expect(calls.values == [])
        advance(to: 100)
        #expect(await calls.values(1) == ["gone"])
    }

    @Test func `a debounced once observation ends with the first burst`() async {
        let token = observe([debounced, .once])
        center.post(name, payload: 1)
        center.post(name, payload: 2)
        await waitForSleeper(until: 100)
        advance(to: 100)
        #expect(await calls.values(1) == ["changed 2"])
        #expect(!token.observation.isActive)
        center.post(name, payload: 3)
        #expect(clock.sleeperCount == 0)
    }

    @Test func `a throttled once observation ends with the first notification`() {
        let token = observe([throttled, .once])
        for payload in 1...3 { center.post(name, payload: payload) }
        #expect(calls.values == ["changed 1"])
        #expect(!token.observation.isActive)
    }

    @Test func `notifications posted during a pause are dropped`() async {
        let token = observe(debounced)
        center.post(name, payload: 1)
        await waitForSleeper(until: 100)
        token.pause()
        advance(to: 50)
        center.post(name, payload: 2)
        advance(to: 100)
        #expect(await calls.values(1) == ["changed 1"])
        token.resume()
        center.post(name, payload: 3)
        await waitForSleeper(until: 200)
        advance(to: 200)
        #expect(await calls.values(2) == ["changed 1", "changed 3"])
        token.cancel()
    }

    @Test func `notifications with other objects do not count`() async {
        let owner = Owner()
        let token = center.observe(name, object: NotificationObject(instance: owner), options: debounced) {
            [calls] in calls.add("\($0.payload as? Int ?? -1)")
        }
        center.post(name, object: NotificationObject(instance: owner), payload: 1)
        await waitForSleeper(until: 100)
        advance(to: 50)
        center.post(name, object: NotificationObject(instance: Owner()), payload: 2)
        center.post(name, payload: 3)
        advance(to: 100)
        #expect(await calls.values(1) == ["1"])
        token.cancel()
    }

    @Test func `other posts of a message's name do not count`() async {
        let token = center.observe(Edited.self, options: debounced) { [calls] in calls.add("line \($0.line)") }
        center.post(Edited(line: 1))
        center.post(name, payload: Edited(line: 2))
        await waitForSleeper(until: 100)
        advance(to: 50)
        center.post(name, payload: "no message")
        advance(to: 100)
        #expect(await calls.values(1) == ["line 2"])
        token.cancel()
    }

    @Test func `messages to owners are rate-limited`() async {
        let owner = Owner()
        center.observe(Edited.self, owner: owner, options: throttled) { [calls] _, message in
            calls.add("line \(message.line)")
        }
        for line in 1...3 { center.post(Edited(line: line)) }
        #expect(calls.values == ["line 1"])
        await waitForSleeper(until: 100)
        advance(to: 100)
        #expect(await calls.values(2) == ["line 1", "line 3"])
    }

    @Test func `an observation replaced by its key drops its pending notification`() async {
        let first = observe([debounced, .key("key")])
        center.post(name, payload: 1)
        await waitForSleeper(until: 100)
        let second = observe([debounced, .key("key")])
        #expect(clock.sleeperCount == 0)
        #expect(!first.observation.isActive)
        center.post(name, payload: 2)
        await waitForSleeper(until: 100)
        advance(to: 100)
        #expect(await calls.values(1) == ["changed 2"])
        second.cancel()
    }

    @Test func `immediate delivery follows the priorities`() {
        let low = center.observe(name, options: [.priority(-1), throttled]) { [calls] _ in calls.add("low") }
        let plain = center.observe(name) { [calls] _ in calls.add("plain") }
        let high = center.observe(name, options: [throttled, .priority(1)]) { [calls] _ in calls.add("high") }
        center.post(name)
        #expect(calls.values == ["high", "plain", "low"])
        for token in [low, plain, high] { token.cancel() }
    }

    @Test func `the last of two rate limits applies`() {
        let token = observe([debounced, throttled])
        center.post(name, payload: 1)
        #expect(calls.values == ["changed 1"])
        token.cancel()
    }

    @Test func `values count as a burst`() async {
        center.setValue(1, for: name)
        center.setValue(2, for: other)
        let token = center.observe(.every, options: debounced) { [calls] in calls.note($0) }
        await waitForSleeper(until: 100)
        #expect(calls.values == [])
        advance(to: 100)
        #expect(await calls.values(1) == ["other 2"])
        token.cancel()
    }

    @Test func `an error of the delayed call is reported`() async {
        struct Failure: Error {}
        center.hooks.failed = { [calls] in calls.note($0.notification, "failed") }
        let token = center.observe(name, options: debounced) { _ in throw Failure() }
        center.post(name, payload: 1)
        await waitForSleeper(until: 100)
        advance(to: 100)
        #expect(await calls.values(1) == ["changed 1 failed"])
        token.cancel()
    }

    // MARK: Executors, actors and sequences

    @Test(arguments: [ObserverExecutor.serially, .concurrently])
    func `an async observer is called on its executor`(on executor: ObserverExecutor) async {
        let token = center.observe(name, options: throttled, on: executor) { [calls] in
            await Task.yield()
            calls.note($0)
        }
        for payload in 1...3 { center.post(name, payload: payload) }
        #expect(await calls.values(1) == ["changed 1"])
        await waitForSleeper(until: 100)
        advance(to: 100)
        #expect(await calls.values(2) == ["changed 1", "changed 3"])
        token.cancel()
    }

    @Test @MainActor func `a main-actor observer gets the end of a burst once`() async {
        let token = center.observe(Edited.self, options: [debounced, .once], on: MainActor.shared) { [calls] message in
            MainActor.assertIsolated()
            calls.add("line \(message.line)")
        }
        center.post(Edited(line: 1))
        center.post(Edited(line: 2))
        center.post(name, payload: "no message")
        await waitForSleeper(until: 100)
        advance(to: 100)
        #expect(await calls.values(1) == ["line 2"])
        #expect(!token.observation.isActive)
    }

    @Test func `a waiting post does not wait for the rate limit`() async {
        let gate = Gate()
        let token = center.observe(name, options: throttled, buffering: .wait(limit: 1)) { [calls] in
            calls.note($0)
            await gate.pass()
        }
        for payload in 1...3 { await center.postWaiting(name, payload: payload) }
        await waitForSleeper(until: 100)
        advance(to: 100)
        gate.open()
        #expect(await calls.values(2) == ["changed 1", "changed 3"])
        #expect(token.observation.droppedCount == 0)
        token.cancel()
    }

    @Test func `a sequence is rate-limited`() async {
        let messages = center.messages(of: Edited.self, options: throttled)
        for line in 1...3 { center.post(Edited(line: line)) }
        center.post(name, payload: "no message")
        await waitForSleeper(until: 100)
        advance(to: 100)
        var lines: [Int] = []
        for await message in messages {
            lines.append(message.line)
            if lines.count == 2 { break }
        }
        #expect(lines == [1, 3])
    }

    // MARK: The end

    @Test func `pending notifications are dropped with the observation`() async {
        for options in [debounced, throttled] {
            let token = observe(options)
            center.post(name)
            var payload: Owner? = Owner()
            weak let watched = payload
            center.post(name, payload: payload)
            payload = nil
            await waitForSleeper(until: 100)
            #expect(watched != nil)
            token.cancel()
            #expect(watched == nil)
            #expect(clock.sleeperCount == 0)
        }
        advance(to: 1_000)
        #expect(calls.values == ["changed"])
    }

    @Test func `pending notifications are dropped with the center`() async {
        var center: LocalCenter? = LocalCenter()
        weak let watchedCenter = center
        let owner = Owner()
        center?.observe(name, owner: owner, options: debounced) { [calls] in calls.note($1) }
        var payload: Owner? = Owner()
        weak let watched = payload
        center?.post(name, payload: payload)
        payload = nil
        await waitForSleeper(until: 100)
        center = nil
        #expect(watchedCenter == nil)
        #expect(watched == nil)
        #expect(clock.sleeperCount == 0)
    }

    @Test func `replaced notifications are released immediately`() async {
        final class Payload: Sendable {
            let goodbye: @Sendable () -> Void
            init(_ goodbye: @escaping @Sendable () -> Void) { self.goodbye = goodbye }
            deinit { goodbye() }
        }
        let token = observe(debounced)
        // The deinitializer of the payload posts again.
        center.post(name, payload: Payload { [center, name] in center.post(name, payload: 3) })
        center.post(name, payload: 2)
        await waitForSleeper(until: 100)
        advance(to: 100)
        #expect(await calls.values(1) == ["changed 3"])
        token.cancel()
    }

    @Test func `an observer may end itself in the delayed call`() async {
        let token = LateValue<ObservationToken>()
        token.value = center.observe(name, options: debounced) { [calls] in
            token.value?.cancel()
            calls.note($0, Task.isCancelled ? "cancelled" : "goes on")
        }
        center.post(name, payload: 1)
        await waitForSleeper(until: 100)
        advance(to: 100)
        #expect(await calls.values(1) == ["changed 1 goes on"])
        center.post(name, payload: 2)
        #expect(clock.sleeperCount == 0)
        #expect(calls.values.count == 1)
    }

    // MARK: Many threads

    @Test func `the last post is delivered after many concurrent ones`() async {
        let tokens = [debounced, throttled].map { options in
            center.observe(name, options: options) { [calls] in
                if $0.payload as? String == "last" { calls.note($0) }
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<3 {
                group.addTask { [center, name, clock] in
                    for index in 0..<500 {
                        center.post(name, payload: index)
                        if thread == 0 { clock.advance(to: .milliseconds(index * 20)) }
                    }
                }
            }
            group.addTask { [center, name, debounced, throttled] in
                for _ in 0..<500 {
                    center.observe(name, options: debounced) { _ in }.cancel()
                    center.observe(name, options: throttled) { _ in }.cancel()
                }
            }
        }
        center.post(name, payload: "last")
        // A timer that does not sleep yet finds that its deadline has passed.
        advance(to: 20_000)
        #expect(await calls.values(2) == ["changed last", "changed last"])
        for token in tokens { token.cancel() }
        #expect(clock.sleeperCount == 0)
    }
}

extension Collector<String> {
    fileprivate func note(_ notification: LocalNotification, _ text: String = "") {
        let object = notification.object.map { " of \($0)" } ?? ""
        let payload = notification.payload.map { " \($0)" } ?? ""
        add(notification.name.string + object + payload + (text.isEmpty ? "" : " ") + text)
    }
}
