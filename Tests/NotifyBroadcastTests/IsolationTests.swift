import NotifyBroadcast
import NotifyCenter
import TestSupport
import Testing

/// Broadcasters and receivers that are sendable, isolated to an actor, or confined to an isolation domain.
@Suite struct IsolationTests {
    private let journal = Journal()

    @Test @MainActor func `a protocol isolated to a global actor is called on that actor`() async {
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

    @Test func `a nonisolated method of an isolated protocol can be called from anywhere`() async {
        final class Window: WindowEvents {
            let journal: Journal
            init(_ journal: Journal) { self.journal = journal }
            func didTap(_ place: Int) { journal.note("tap \(place)") }
            nonisolated func didClose() { journal.note("closed") }
        }
        let windows = WindowEventsBroadcaster()
        let window = await Window(journal)
        await windows.register(window)
        windows.didClose()
        await windows.didTap(1)
        #expect(journal.take() == ["closed", "tap 1"])
    }

    @Test func `a method of a nonisolated protocol can be isolated`() async {
        final class Both: MixedEvents {
            let journal: Journal
            init(_ journal: Journal) { self.journal = journal }
            func happened() { journal.note("happened") }
            func showed(_ place: Int) {
                MainActor.assertIsolated()
                journal.note("showed \(place)")
            }
        }
        let mixed = MixedEventsBroadcaster()
        let both = Both(journal)
        mixed.register(both)
        mixed.happened()
        await mixed.showed(1)
        #expect(journal.take() == ["happened", "showed 1"])
    }

    @Test @Press func `decoded calls run on the protocol's global actor`() {
        final class Counter: PressEvents {
            var pages = 0
            func printed(_ pages: Int) { self.pages += pages }
        }
        let presses = PressEventsBroadcaster.shared(in: LocalCenter())
        let counter = Counter()
        presses.register(counter)
        presses.printed(2)
        presses.dispatch(.printed(3))
        #expect(counter.pages == 5)
    }

    @Test func `actors can be receivers`() async {
        actor Receiver: SlowEvents {
            var numbers: [Int] = []
            func happened(_ number: Int) { numbers.append(number) }
        }
        let events = SlowEventsBroadcaster()
        let receiver = Receiver()
        events.register(receiver)
        await events.happened(1)
        await events.happened(2)
        #expect(await receiver.numbers == [1, 2])
    }

    @Test func `an async call finishes before the next receiver is called`() async {
        final class Receiver: SlowEvents {
            let name: String
            let journal: Journal
            init(_ name: String, _ journal: Journal) {
                self.name = name
                self.journal = journal
            }
            func happened(_ number: Int) async {
                journal.note("\(name) begins")
                for _ in 0..<10 { await Task.yield() }
                journal.note("\(name) ends")
            }
        }
        let events = SlowEventsBroadcaster()
        let receivers = ["a", "b"].map { Receiver($0, journal) }
        for receiver in receivers { events.register(receiver) }
        await events.happened(1)
        #expect(journal.take() == ["a begins", "a ends", "b begins", "b ends"])
        withExtendedLifetime(receivers) {}
    }

    @Test func `an async method of a protocol that is not Sendable can be broadcast`() async {
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
