import NotifyBroadcast
import NotifyCenter
import Synchronization
import TestSupport
import Testing

@Suite struct BroadcasterTests {
    private let journal = Journal()
    private let events = UserEventsBroadcaster()

    @Test func `registering twice does not double calls`() {
        let person = Person("a", journal)
        events.register(person)
        events.register(person)
        events.register(person, for: [.userDidLeave])
        events.userDidLeave()
        #expect(journal.take() == ["a: left"])
        #expect(events.receiverCount == 1)
    }

    @Test func `unregistering from every method removes the receiver`() {
        let person = Person("a", journal)
        events.register(person)
        events.unregister(person, for: .userDidFollow)
        #expect(events.receiverCount == 1)
        events.unregister(person, for: .userDidLeave)
        #expect(events.receiverCount == 0)
    }

    @Test func `additions during a call apply to the next call, removals immediately`() {
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

    @Test func `a broadcaster can receive from another broadcaster`() {
        let outer = UserEventsBroadcaster()
        let person = Person("a", journal)
        events.register(person)
        outer.register(events)
        outer.userDidLeave()
        #expect(journal.take() == ["a: left"])
    }

    @Test func `receivers may call the broadcaster, a thousand calls deep`() {
        let depth = Atomic(0)
        let person = Person("a", journal) { [events] _ in
            if depth.add(1, ordering: .relaxed).newValue < 1_000 { events.userDidLeave() }
        }
        events.register(person)
        events.userDidLeave()
        #expect(journal.entries.count == 1_000)
    }
}

// MARK: - Shared broadcasters

extension BroadcasterTests {
    @Test func `a shared broadcaster is released with its center`() {
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
    @Test func `concurrent registering, ending and calling is safe`() async {
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

    @Test func `concurrent first uses get the same shared broadcaster`() async {
        for _ in 0..<20 {
            let center = LocalCenter()
            let identities = await withTaskGroup(of: ObjectIdentifier.self) { group in
                for _ in 0..<4 { group.addTask { ObjectIdentifier(UserEventsBroadcaster.shared(in: center)) } }
                return await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(identities.count == 1)
        }
    }
}
