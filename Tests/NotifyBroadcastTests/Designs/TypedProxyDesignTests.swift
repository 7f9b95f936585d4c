import NotifyBroadcast
@_spi(Package) import NotifyCenter
import Synchronization
import TestSupport
import Testing

/// Tests that broadcasters have the features of conventional typed proxies, and none of their faults.
@Suite struct TypedProxyDesignTests {
    private let journal = Journal()
    private let events = UserEventsBroadcaster()

    // MARK: Features

    @Test func `a post is a method call that every receiver gets in order of registration`() {
        let people = ["a", "b", "c"].map { Person($0, journal) }
        for person in people { events.register(person) }
        events.userDidFollow("x", at: 3)
        #expect(journal.take() == ["a: x at 3", "b: x at 3", "c: x at 3"])
    }

    @Test func `the sender depends on the protocol only`() {
        func send(to sink: any UserEvents) { sink.userDidLeave() }
        let person = Person("a", journal)
        events.register(person)
        send(to: events)
        #expect(journal.take() == ["a: left"])
    }

    @Test func `arguments keep their types`() {
        final class Keeper: ValueEvents {
            let values = Mutex<[[String: [Int?]]]>([])
            func changed(_ value: [String: [Int?]], then body: () -> Void) {
                values.withLock { $0.append(value) }
                body()
            }
        }
        let values = ValueEventsBroadcaster()
        let keepers = [Keeper(), Keeper()]
        for keeper in keepers { values.register(keeper) }
        var count = 0
        values.changed(["a": [1, nil]]) { count += 1 }
        #expect(keepers.map { $0.values.withLock(\.self) } == [[["a": [1, nil]]], [["a": [1, nil]]]])
        #expect(count == 2)
    }

    @Test func `receivers are held weakly`() {
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

    @Test func `unimplemented optional methods are skipped`() async throws {
        final class Bare: Optionals {
            func required() {}
        }
        final class Full: Optionals {
            let stored = Mutex<String?>("red")
            func required() {}
            func titles() -> [String] { ["full"] }
            func factor() async throws -> Int { 3 }
            var color: String? {
                get { stored.withLock { $0 } }
                set { stored.withLock { $0 = newValue } }
            }
        }
        let optionals = OptionalsBroadcaster()
        let (bare, full) = (Bare(), Full())
        optionals.register(bare)
        optionals.register(full)
        optionals.didAppear()
        optionals.required()
        #expect(optionals.titles() == ["full"])
        #expect(optionals.color == "red")
        optionals.color = "blue"
        #expect(full.color == "blue")
        #expect(try await optionals.factor() == 3)
    }
}

// MARK: - Fault: two protocols with the same method name received each other's calls

extension TypedProxyDesignTests {
    @Test func `protocols with an equal method do not share calls`() {
        let (person, shopper) = (Person("a", journal), Person("b", journal))
        let shop = ShopEventsBroadcaster()
        events.register(person)
        shop.register(shopper)
        shop.userDidLeave()
        #expect(journal.take() == ["b: left"])
        events.userDidLeave()
        #expect(journal.take() == ["a: left"])
    }

    @Test func `a receiver of two protocols gets each call once`() {
        let person = Person("a", journal)
        let shop = ShopEventsBroadcaster()
        events.register(person)
        shop.register(person)
        shop.userDidLeave()
        #expect(journal.take() == ["a: left"])
        shop.unregister(person)
        shop.userDidLeave()
        #expect(journal.take() == [])
        events.userDidLeave()
        #expect(journal.take() == ["a: left"])
    }

    @Test func `each protocol has its own broadcaster in a center`() {
        let center = LocalCenter()
        let person = Person("a", journal)
        UserEventsBroadcaster.shared(in: center).register(person)
        ShopEventsBroadcaster.shared(in: center).userDidLeave()
        #expect(journal.take() == [])
    }
}

// MARK: - Fault: a coarse protocol tied receivers to messages they do not handle

extension TypedProxyDesignTests {
    @Test func `a receiver of selected methods gets no other calls`() {
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

    @Test func `registering for no methods adds no receiver`() {
        let person = Person("a", journal)
        events.register(person, for: [])
        events.userDidLeave()
        events.userDidFollow("x", at: 1)
        #expect(journal.take() == [])
        #expect(events.receiverCount == 0)
    }
}

// MARK: - Fault: one global instance

extension TypedProxyDesignTests {
    @Test func `users of a center share its broadcaster`() {
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

    @Test func `separate broadcasters are independent`() {
        let (one, other) = (UserEventsBroadcaster(), UserEventsBroadcaster())
        let person = Person("a", journal)
        one.register(person)
        other.userDidLeave()
        #expect(other.receiverCount == 0)
        #expect(journal.take() == [])
        one.userDidLeave()
        #expect(journal.take() == ["a: left"])
    }
}
