import TestSupport
import Testing

@testable import NotifyCenter

@globalActor private actor Library {
    static let shared = Library()
}

@Library private final class Shelf {
    private(set) var items: [Int] = []
    nonisolated let seen: Collector<Int>

    nonisolated init(_ seen: Collector<Int>) { self.seen = seen }

    func add(_ item: Int) {
        items.append(item)
        seen.add(item)
    }
}

/// Observers on a global actor other than the main actor, until an owner is released.
@Suite(.timeLimit(.minutes(25))) struct ObserveOnGlobalActorTests {
    private let center = LocalCenter()
    private let name: NotificationName = "shelf.filled"
    private let seen = Collector<Int>()

    private struct Filled: NotificationMessage {
        static let notificationName: NotificationName = "shelf.filled"
        let item: Int
    }

    @Test func `a closure of the global actor uses its owner without await`() async {
        let shelf = Shelf(seen)
        center.observe(name, owner: shelf, on: Library.shared) { @Library shelf, notification in
            shelf.add((notification.payload as? Filled)?.item ?? 0)
        }
        center.observe(Filled.self, owner: shelf, on: Library.shared) { @Library shelf, message in
            shelf.add(message.item)
        }
        for item in 1...3 { center.post(Filled(item: item)) }
        #expect(await seen.values(6).sorted() == [1, 1, 2, 2, 3, 3])
        #expect(await shelf.items.count == 6)
    }

    @Test func `a closure without isolation runs on the actor`() async {
        let shelf = Shelf(seen)
        center.observe(name, owner: shelf, on: Library.shared) { shelf, _ in
            Library.assertIsolated()
            await shelf.add(1)
            Library.assertIsolated()
        }
        center.observe(Filled.self, owner: shelf, on: Library.shared) { shelf, message in
            Library.assertIsolated()
            await shelf.add(message.item)
        }
        center.post(Filled(item: 2))
        #expect(await seen.values(2).sorted() == [1, 2])
        withExtendedLifetime(shelf) {}
    }

    @Test func `the release of the owner ends the observation`() {
        var shelf: Shelf? = Shelf(seen)
        let weak = Weak(shelf)
        let observation = shelf.map {
            center.observe(Filled.self, owner: $0, on: Library.shared) { @Library shelf, message in
                shelf.add(message.item)
            }
        }
        #expect(observation?.isActive == true)
        shelf = nil
        #expect(weak.isGone)
        center.post(Filled(item: 1))
        #expect(observation?.isActive == false)
    }
}
