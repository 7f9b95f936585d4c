import Foundation
import NotifyCenter
import NotifyFoundation
import TestSupport
import Testing

/// Messages that are posted and observed on the main actor.
@Suite @MainActor struct MainActorMessageTests {
    private let center = NotificationCenter()
    private let journal = Journal()
    private let event = Event()
    private let other = Event()

    @Test func `an observer has run when post returns`() {
        var numbers: [Int] = []
        let token = center.addObserver(of: Event.self, for: .didStart) { numbers.append($0.number) }
        center.post(EventDidStart(number: 1))
        #expect(numbers == [1])
        center.post(EventDidStart(number: 2), subject: event)
        #expect(numbers == [1, 2])
        center.removeObserver(token)
    }

    @Test func `observers of a subject get its posts only, observers without a subject all posts`() {
        let tokens = [
            center.addObserver(of: event, for: .didStart) { [journal] in journal.note("event \($0.number)") },
            center.addObserver(of: Event.self, for: .didStart) { [journal] in journal.note("any \($0.number)") },
        ]
        center.post(EventDidStart(number: 1), subject: event)
        center.post(EventDidStart(number: 2), subject: other)
        center.post(EventDidStart(number: 3))
        #expect(journal.take() == ["event 1", "any 1", "any 2", "any 3"])
        withExtendedLifetime(tokens) {}
    }

    @Test func `a message type can be observed without an identifier`() {
        let tokens = [
            center.addObserver(of: event, for: EventDidStart.self) { [journal] _ in journal.note("event") },
            center.addObserver(of: nil, for: EventDidStart.self) { [journal] _ in journal.note("nil") },
            center.addObserver(for: EventDidStart.self) { [journal] _ in journal.note("any") },
        ]
        center.post(EventDidStart(), subject: event)
        center.post(EventDidStart())
        #expect(journal.take() == ["event", "nil", "any", "nil", "any"])
        withExtendedLifetime(tokens) {}
    }

    @Test func `observers of other types are not called, also for the same subject`() {
        let token = center.addObserver(of: event, for: .didMove) { [journal] _ in journal.note("moved") }
        center.post(EventDidStart(), subject: event)
        #expect(journal.take() == [])
        withExtendedLifetime(token) {}
    }

    private final class Instance: NotificationCenter.MainActorMessage {
        typealias Subject = Event
        let text: String

        init(_ text: String) { self.text = text }
    }

    private enum Choice: String, NotificationCenter.MainActorMessage {
        typealias Subject = Event
        case first, second
    }

    private actor Worker: NotificationCenter.MainActorMessage {
        typealias Subject = Event
    }

    @Test func `a message may be a class instance, an enumeration or an actor`() {
        let worker = Worker()
        let tokens = [
            center.addObserver(for: Instance.self) { [journal] in journal.note($0.text) },
            center.addObserver(for: Choice.self) { [journal] in journal.note($0.rawValue) },
            center.addObserver(for: Worker.self) { [journal] in journal.note("\($0 === worker)") },
        ]
        center.post(Instance("instance"))
        center.post(Choice.second)
        center.post(worker)
        #expect(journal.take() == ["instance", "second", "true"])
        withExtendedLifetime(tokens) {}
    }

    @Test func `the default name is the type's name with its module`() {
        #expect(EventDidStart.name.rawValue == "NotifyFoundationTests.EventDidStart")
    }

    @Test func `a subject is not retained`() {
        var event: Event? = Event()
        weak let weakEvent = event
        let token = event.map { center.addObserver(of: $0, for: .didStart) { _ in } }
        event = nil
        #expect(weakEvent == nil)
        withExtendedLifetime(token) {}
    }

    private actor Registrar {
        var token: NotificationCenter.ObservationToken?

        func observe(_ center: NotificationCenter, _ journal: Journal) {
            token = center.addObserver(of: Event.self, for: .didStart) { _ in
                MainActor.assertIsolated()
                journal.note("called")
            }
        }
    }

    @Test func `an observer added by another actor runs on the main actor`() async {
        let registrar = Registrar()
        await registrar.observe(center, journal)
        center.post(EventDidStart())
        #expect(journal.take() == ["called"])
        withExtendedLifetime(registrar) {}
    }

    /// Asynchronous tests run in a process whose `main` is asynchronous: any of its threads runs the main queue.
    @Test func `an observer has run when a post on the main queue returns`() async {
        let blocks: [(@escaping @Sendable () -> Void) -> Void] = [
            { block in DispatchQueue.main.async { block() } },
            { block in OperationQueue.main.addOperation(block) },
            { block in DispatchQueue.global().async { DispatchQueue.main.sync(execute: block) } },
        ]
        let token = center.addObserver(of: Event.self, for: .didMove) { [journal] move in
            MainActor.assertIsolated()
            journal.note("row \(move.row)")
        }
        for run in blocks {
            await withCheckedContinuation { continuation in
                run { [center, journal] in
                    center.post(Notification(name: EventDidMove.name, userInfo: ["row": 1]))
                    journal.note("posted")
                    MainActor.assumeIsolated { center.post(EventDidMove(row: 2)) }
                    journal.note("posted")
                    continuation.resume()
                }
            }
            #expect(journal.take() == ["row 1", "posted", "row 2", "posted"])
        }
        center.removeObserver(token)
    }

    // MARK: - Tokens

    @Test func `an observation ends with the last copy of its token`() {
        var tokens: [NotificationCenter.ObservationToken] = []
        do {
            let token = center.addObserver(of: Event.self, for: .didStart) { [journal] _ in journal.note("called") }
            tokens = [token, token]
            #expect(Set(tokens) == [token])
        }
        tokens.removeLast()
        center.post(EventDidStart())
        tokens.removeLast()
        center.post(EventDidStart())
        #expect(journal.take() == ["called"])
        #expect(center.center.observationCount == 0)
    }

    @Test func `removing a token ends only its observation`() {
        let tokens = (1...2).map { number in
            center.addObserver(of: Event.self, for: .didStart) { [journal] _ in journal.note("\(number)") }
        }
        #expect(tokens[0] != tokens[1])
        center.removeObserver(tokens[0])
        center.removeObserver(tokens[0])
        NotificationCenter().removeObserver(tokens[1])
        center.post(EventDidStart())
        #expect(journal.take() == ["2"])
    }
}
