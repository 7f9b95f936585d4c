import Synchronization
import TestSupport
import Testing

@_spi(Package) @testable import NotifyCenter

@Suite struct ObservationOptionsTests {
    private let center = LocalCenter()
    private let journal = Journal()
    private let name = NotificationName(literal: "orders.paid")

    private func observe(_ label: String, _ options: ObservationOptions) -> ObservationToken {
        center.observe(name, options: options) { [journal] _ in journal.note(label) }
    }

    private func posting() -> [String] {
        center.post(name)
        return journal.take()
    }

    // MARK: Once

    @Test func `a once observation ends after one call`() {
        let once = observe("once", .once)
        let always = observe("always", [])
        #expect(once.observation.isActive)
        #expect(posting() == ["once", "always"])
        #expect(!once.observation.isActive)
        #expect(center.observationCount == 1)
        #expect(posting() == ["always"])
        withExtendedLifetime((once, always)) {}
    }

    @Test func `posts with another object or during a pause do not end a once observation`() {
        let token = center.observe(name, object: NotificationObject(value: 1), options: .once) { [journal] _ in
            journal.note("once")
        }
        center.post(name, object: NotificationObject(value: 2))
        #expect(posting() == [])
        token.pause()
        center.post(name, object: NotificationObject(value: 1))
        #expect(journal.take() == [])
        token.resume()
        center.post(name, object: NotificationObject(value: 1))
        #expect(journal.take() == ["once"])
        token.cancel()
    }

    @Test func `a once observer is not called by a nested post`() {
        let token = center.observe(name, options: .once) { [center, name, journal] _ in
            journal.note("once")
            center.post(name)
        }
        #expect(posting() == ["once"])
        token.cancel()
    }

    @Test func `the once option applies to owners and typed messages`() {
        let owner = Thing()
        center.observe(OrderPaid.self, owner: owner, options: .once) { [journal] _, _ in journal.note("typed") }
        center.observe(name, owner: owner, options: .once) { [journal] _, _ in journal.note("by name") }
        center.post(OrderPaid(amount: 1))
        center.post(OrderPaid(amount: 2))
        #expect(journal.take() == ["typed", "by name"])
        #expect(center.observationCount == 0)
    }

    @Test func `the captures of a once observer are released with its call`() {
        var captured: Thing? = Thing()
        let gone = Weak(captured)
        let token = center.observe(name, options: .once) { [captured] _ in withExtendedLifetime(captured) {} }
        captured = nil
        center.post(name)
        #expect(gone.isGone)
        token.cancel()
    }

    @Test func `exactly one of several concurrent posts calls a once observer`() async {
        let calls = Atomic(0)
        let rounds = 5_000
        let names = (0..<rounds).map { NotificationName(unchecked: "n\($0)") }
        let tokens = names.map { name in
            center.observe(name, options: .once) { _ in calls.wrappingAdd(1, ordering: .relaxed) }
        }
        await onThreads(4) { [center] _ in for name in names { center.post(name) } }
        #expect(calls.load(ordering: .relaxed) == rounds)
        #expect(center.observationCount == 0)
        withExtendedLifetime(tokens) {}
    }

    // MARK: Priority

    @Test func `higher priorities come first, equal ones in order of registration`() throws {
        let tokens = [
            observe("1", []), observe("2", .priority(-5)), observe("3", .priority(5)), observe("4", .priority(0)),
            try center.observe("orders.*", options: .priority(5)) { [journal] _ in journal.note("5") },
            observe("6", .priority(.max)), observe("7", .priority(.min)),
        ]
        #expect(posting() == ["6", "3", "5", "1", "4", "2", "7"])
        withExtendedLifetime(tokens) {}
    }

    // MARK: Keys

    @Test func `a key replaces an earlier observation`() {
        let first = observe("first", .key("k"))
        let other = observe("other", .key("another"))
        let second = observe("second", .key("k"))
        #expect(!first.observation.isActive)
        #expect(posting() == ["other", "second"])
        #expect(center.observationCount == 2)
        first.cancel()
        #expect(posting() == ["other", "second"])
        withExtendedLifetime((other, second)) {}
    }

    @Test func `a key is independent of the observed names`() throws {
        let first = observe("first", .key("k"))
        let second = try center.observe("a.*", object: "17", options: .key("k")) { [journal] _ in journal.note("second")
        }
        #expect(posting() == [])
        try center.post("a.b", object: "17")
        #expect(journal.take() == ["second"])
        withExtendedLifetime((first, second)) {}
    }

    @Test func `an unused key replaces nothing`() {
        let first = observe("first", .key("k"))
        first.cancel()
        let unrelated = observe("unrelated", [])
        let second = observe("second", .key("k"))
        #expect(posting() == ["unrelated", "second"])
        withExtendedLifetime((unrelated, second)) {}
    }

    @Test func `a key belongs to one owner, or to observations without an owner`() {
        let (owner, other) = (Thing(), Thing())
        func observe(_ label: String, owner: Thing) {
            center.observe(name, owner: owner, options: .key("k")) { [journal] _, _ in journal.note(label) }
        }
        observe("owner", owner: owner)
        observe("other", owner: other)
        let token = self.observe("nobody's", .key("k"))
        #expect(posting() == ["owner", "other", "nobody's"])
        observe("owner again", owner: owner)
        #expect(posting() == ["other", "nobody's", "owner again"])
        withExtendedLifetime((owner, other, token)) {}
    }

    @Test func `keys of released owners do not apply to a new owner at the same address`() {
        var addresses: Set<ObjectIdentifier> = []
        for round in 0..<1_000 {
            let owner = Thing()
            addresses.insert(ObjectIdentifier(owner))
            center.observe(name, owner: owner, options: .key("k")) { [journal] _, _ in journal.note("\(round)") }
            center.observe(name, owner: owner, options: .key("l")) { [journal] _, _ in journal.note("\(round)") }
            #expect(posting() == ["\(round)", "\(round)"])
        }
        // If no address was reused, the test would prove nothing.
        #expect(addresses.count < 1_000)
        #expect(center.observationCount == 0)
        #expect(center.state.withLock { $0.keys.count } == 0)
    }

    @Test func `every post reaches either the replaced observation or its replacement`() async {
        let rounds = 2_000
        let isDone = Atomic(false)
        let wrong = Atomic(0)
        let posts = Atomic(0)
        final class Count: Sendable {
            let calls = Atomic(0)
        }
        let token = LateValue<ObservationToken>()
        token.value = center.observe(name, options: .key("k")) {
            ($0.payload as? Count)?.calls.wrappingAdd(1, ordering: .relaxed)
        }
        await onThreads(2) { [center, name] thread in
            if thread == 0 {
                for _ in 0..<rounds {
                    token.value = center.observe(name, options: .key("k")) {
                        ($0.payload as? Count)?.calls.wrappingAdd(1, ordering: .relaxed)
                    }
                }
                isDone.store(true, ordering: .releasing)
            } else {
                while !isDone.load(ordering: .acquiring) {
                    let count = Count()
                    center.post(name, payload: count)
                    posts.wrappingAdd(1, ordering: .relaxed)
                    if count.calls.load(ordering: .relaxed) != 1 { wrong.wrappingAdd(1, ordering: .relaxed) }
                }
            }
        }
        #expect(wrong.load(ordering: .relaxed) == 0, "of \(posts.load(ordering: .relaxed)) posts")
        #expect(center.observationCount == 1)
        token.value = nil
    }

    @Test func `an observation replaced during a post gets that post and no later one`() {
        let replacing = LateValue<ObservationToken>()
        let first = center.observe(name) { [center, name, journal] _ in
            if replacing.value == nil {
                replacing.value = center.observe(name, options: .key("k")) { _ in journal.note("replacing") }
            }
        }
        let replaced = observe("replaced", .key("k"))
        #expect(posting() == ["replaced"])
        #expect(posting() == ["replacing"])
        #expect(!replaced.observation.isActive)
        replacing.value = nil
        withExtendedLifetime(first) {}
    }

    @Test func `an async or rate-limited observation replaced during a post does not get it`() {
        let executor = ManualExecutor()
        let replacing = LateValue<[ObservationToken]>()
        let first = center.observe(name) { [center, name, journal] _ in
            if replacing.value == nil {
                replacing.value = ["elsewhere", "paced"].map { key in
                    center.observe(name, options: .key(key)) { _ in journal.note("replacing \(key)") }
                }
            }
        }
        let replaced = [
            center.observe(name, options: .key("elsewhere"), on: .queue(executor.execute)) { [journal] _ in
                journal.note("elsewhere")
            }, observe("paced", [.key("paced"), .throttled(for: .seconds(1))]),
        ]
        #expect(posting() == [])
        #expect(executor.jobCount == 0)
        #expect(posting() == ["replacing elsewhere", "replacing paced"])
        replacing.value = nil
        withExtendedLifetime((first, replaced)) {}
    }

    // MARK: Together

    @Test func `an array combines options`() {
        let low = observe("low", [])
        let both = observe("both", [.once, .priority(1), .key("k"), .withoutValues])
        #expect(posting() == ["both", "low"])
        #expect(posting() == ["low"])
        let options: ObservationOptions = [.once, .priority(1), .key("k"), .withoutValues]
        #expect(options.isOnce && options.priority == 1 && options.key == "k" && options.valueLimit == 0)
        withExtendedLifetime((low, both)) {}
    }

    @Test func `the last of two conflicting options applies`() {
        let options: ObservationOptions = [.priority(5), .key("a"), .once, .priority(0), .key("b")]
        #expect(options.priority == 0)
        #expect(options.key == "b")
        #expect(options.isOnce)
        let nested: ObservationOptions = [[.priority(5), .key("a")], [.once], .withoutValues]
        #expect(nested.priority == 5 && nested.key == "a" && nested.isOnce && nested.valueLimit == 0)
        let others: ObservationOptions = [.withoutValues, .once, .priority(1)]
        #expect(others.priority == 1 && others.isOnce && others.valueLimit == 0)
    }

    @Test func `an empty array has the default options`() {
        let options: ObservationOptions = []
        #expect(options.priority == 0 && options.key == nil && !options.isOnce && options.valueLimit == .max)
    }
}
