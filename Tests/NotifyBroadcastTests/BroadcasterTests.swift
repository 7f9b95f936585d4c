import NotifyBroadcast
import NotifyCenter
import Synchronization
import Testing

private final class Person: UserEvents, ShopEvents {
    let name: String
    let journal: Journal
    let onLeave: @Sendable (Person) -> Void

    init(_ name: String, _ journal: Journal, onLeave: @escaping @Sendable (Person) -> Void = { _ in }) {
        self.name = name
        self.journal = journal
        self.onLeave = onLeave
    }

    func userDidFollow(_ user: String, at time: Int) { journal.note("\(name): \(user) at \(time)") }
    func userDidLeave() {
        journal.note("\(name): left")
        onLeave(self)
    }
}

@Suite struct BroadcasterTests {
    private let journal = Journal()
    private let events = UserEventsBroadcaster()

    @Test func `a call reaches every receiver, in order of registration`() {
        let people = ["a", "b", "c"].map { Person($0, journal) }
        for person in people { events.register(person) }
        events.userDidFollow("x", at: 3)
        #expect(journal.take() == ["a: x at 3", "b: x at 3", "c: x at 3"])
    }

    @Test func `receivers are weak`() {
        weak let gone: Person?
        do {
            let person = Person("a", journal)
            gone = person
            events.register(person)
            #expect(events.receiverCount == 1)
        }
        #expect(gone == nil)
        events.userDidLeave()
        #expect(events.receiverCount == 0)
        #expect(journal.entries == [])
    }

    @Test func `registering twice does not double calls`() {
        let person = Person("a", journal)
        events.register(person)
        events.register(person)
        events.register(person, for: [.userDidLeave])
        events.userDidLeave()
        #expect(journal.take() == ["a: left"])
        #expect(events.receiverCount == 1)
    }

    @Test func `a receiver of chosen methods gets no others`() {
        let person = Person("a", journal)
        events.register(person, for: [.userDidFollow])
        events.userDidLeave()
        #expect(journal.take() == [])
        events.register(person, for: .userDidLeave)
        events.userDidLeave()
        events.userDidFollow("x", at: 1)
        #expect(journal.take() == ["a: left", "a: x at 1"])
        events.unregister(person, for: .userDidFollow)
        events.userDidFollow("x", at: 2)
        events.userDidLeave()
        #expect(journal.take() == ["a: left"])
        events.unregister(person)
        events.unregister(person)
        events.userDidLeave()
        #expect(journal.take() == [])
    }

    @Test func `two protocols with the same method do not get each other's calls`() {
        let (person, shopper) = (Person("a", journal), Person("b", journal))
        let shop = ShopEventsBroadcaster()
        events.register(person)
        shop.register(shopper)
        shop.userDidLeave()
        #expect(journal.take() == ["b: left"])
        events.userDidLeave()
        #expect(journal.take() == ["a: left"])
    }

    @Test func `changes during a call hold for the next, but for removals`() {
        let (late, last) = (Person("late", journal), Person("c", journal))
        let first = Person("a", journal) { [events] _ in
            events.register(late)
            events.unregister(last)
        }
        events.register(first)
        events.register(last)
        events.userDidLeave()
        #expect(journal.take() == ["a: left"])
        events.userDidFollow("x", at: 1)
        #expect(journal.take() == ["a: x at 1", "late: x at 1"])
    }

    @Test func `a broadcaster may receive from another`() {
        let outer = UserEventsBroadcaster()
        let person = Person("a", journal)
        events.register(person)
        outer.register(events)
        outer.userDidLeave()
        #expect(journal.take() == ["a: left"])
    }

    @Test func `receivers may call from inside, a thousand times deep`() {
        let depth = Atomic(0)
        let person = Person("a", journal) { [events] _ in
            if depth.add(1, ordering: .relaxed).newValue < 1_000 { events.userDidLeave() }
        }
        events.register(person)
        events.userDidLeave()
        #expect(journal.entries.count == 1_000)
    }
}

// MARK: - Shared ones

extension BroadcasterTests {
    @Test func `parts of a program that share a center share its broadcaster`() {
        let (center, other) = (LocalCenter(), LocalCenter())
        let person = Person("a", journal)
        UserEventsBroadcaster.shared(in: center).register(person)
        UserEventsBroadcaster.shared(in: other).userDidLeave()
        UserEventsBroadcaster().userDidLeave()
        #expect(journal.take() == [])
        UserEventsBroadcaster.shared(in: center).userDidLeave()
        #expect(journal.take() == ["a: left"])
        #expect(UserEventsBroadcaster.shared() === UserEventsBroadcaster.shared(in: .default))
    }

    @Test func `a shared broadcaster goes with its center`() {
        weak let broadcaster: UserEventsBroadcaster?
        do {
            let center = LocalCenter()
            broadcaster = UserEventsBroadcaster.shared(in: center)
            #expect(broadcaster === UserEventsBroadcaster.shared(in: center))
        }
        #expect(broadcaster == nil)
    }
}

// MARK: - Threads

extension BroadcasterTests {
    @Test func `many threads register, end and call at once`() async {
        let steady = Person("steady", journal)
        events.register(steady)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { [events] in
                    for _ in 0..<500 { events.userDidLeave() }
                }
                group.addTask { [events] in
                    let quiet = Journal()
                    for index in 0..<500 {
                        let person = Person("p", quiet)
                        events.register(person, for: index % 2 == 0 ? .userDidLeave : .userDidFollow)
                        if index % 3 == 0 { events.unregister(person) }
                    }
                }
            }
        }
        #expect(journal.entries.count == 2_000)
        #expect(events.receiverCount == 1)
    }

    @Test @MainActor func `a protocol that is bound to an actor is called there`() async {
        final class View: ViewEvents {
            var places: [Int] = []
            func didTap(_ place: Int) { places.append(place) }
            func didLoad() async { places.append(-1) }
        }
        let views = ViewEventsBroadcaster.shared(in: LocalCenter())
        let view = View()
        views.register(view)
        views.didTap(7)
        await views.didLoad()
        #expect(view.places == [7, -1])
    }

    @Test func `one that is not Sendable works where it is`() async {
        final class Counter: LocalEvents {
            var count = 0
            func happened() async { count += 1 }
        }
        let events = LocalEventsBroadcaster()
        let counter = Counter()
        events.register(counter)
        await events.happened()
        #expect(counter.count == 1)
    }
}
