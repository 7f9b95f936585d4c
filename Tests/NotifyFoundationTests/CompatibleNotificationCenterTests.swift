import Foundation
import NotifyCenter
import NotifyFoundation
import TestSupport
import Testing

/// Tests that the center has the documented behaviour of Foundation's center, and none of the typical faults of a
/// reimplementation.
@Suite struct CompatibleNotificationCenterTests {
    private final class Thing: Sendable {}

    private let center = CompatibleNotificationCenter()
    private let journal = Journal()
    private let name = NSNotification.Name("a name with spaces")
    private let other = NSNotification.Name("other")

    private func observe(
        _ note: String, _ name: NSNotification.Name?, object: Any? = nil, queue: OperationQueue? = nil
    ) -> any NSObjectProtocol {
        center.addObserver(forName: name, object: object, queue: queue) { [journal] in
            journal.note("\(note) \($0.name.rawValue)")
        }
    }

    @Test func `a block without a queue is called on the poster's thread with the posted notification`() {
        let thing = Thing()
        let seen = LateValue<Bool>()
        let poster = ObjectIdentifier(Thread.current)
        let token = center.addObserver(forName: name, object: nil, queue: nil) { [name] notification in
            seen.value =
                notification.name == name && notification.object as AnyObject? === thing
                && notification.userInfo?["key"] as? Int == 7 && ObjectIdentifier(Thread.current) == poster
        }
        center.post(name: name, object: thing, userInfo: ["key": 7])
        #expect(seen.value == true)
        center.removeObserver(token)
    }

    @Test func `removing a token twice removes only its own block`() {
        let token = observe("first", name)
        center.removeObserver(token)
        let second = observe("second", name)
        center.removeObserver(token)
        CompatibleNotificationCenter().removeObserver(second)
        center.removeObserver("somebody unknown")
        center.post(name: name, object: nil)
        #expect(journal.take() == ["second a name with spaces"])
    }

    @Test func `a token of another center removes nothing`() {
        let another = CompatibleNotificationCenter()
        let here = observe("here", name)
        let there = another.addObserver(forName: name, object: nil, queue: nil) { [journal] _ in journal.note("there") }
        center.removeObserver(there)
        another.removeObserver(here)
        center.post(name: name, object: nil)
        another.post(name: name, object: nil)
        #expect(journal.take() == ["here a name with spaces", "there"])
    }

    @Test func `removing a token by name and object ends only an observation with both`() {
        let thing = Thing()
        let token = observe("observer", name, object: thing)
        let any = observe("any", name)
        center.removeObserver(token, name: other, object: nil)
        center.removeObserver(token, name: name, object: Thing())
        center.removeObserver(token, name: other, object: thing)
        center.removeObserver(any, name: name, object: thing)
        center.post(name: name, object: thing)
        #expect(journal.take().count == 2)
        center.removeObserver(token, name: name, object: thing)
        center.removeObserver(any, name: name, object: nil)
        center.post(name: name, object: thing)
        #expect(journal.take() == [])
        let last = observe("last", name, object: thing)
        center.removeObserver(last, name: nil, object: thing)
        #expect(center.center.observationCount == 0)
    }

    @Test func `an observer with a closure is removed from everything, from one name or from one object`() {
        let (plain, another, thing) = (Plain(journal), Plain(journal), Thing())
        func observeAll() {
            center.addObserver(plain, name: name, object: thing) { $0.note($1) }
            center.addObserver(plain, name: other, object: nil) { $0.note($1) }
        }
        func calls() -> Int {
            center.post(name: name, object: thing)
            center.post(name: name, object: Thing())
            center.post(name: other, object: nil)
            return journal.take().count
        }
        observeAll()
        #expect(calls() == 2)
        center.removeObserver(another)
        center.removeObserver(plain, name: name, object: Thing())
        #expect(calls() == 2)
        center.removeObserver(plain, name: name, object: nil)
        #expect(calls() == 1)
        center.removeObserver(plain)
        #expect(calls() == 0)
        observeAll()
        center.removeObserver(plain, name: nil, object: thing)
        #expect(calls() == 1)
        center.removeObserver(plain, name: other, object: nil)
        #expect(center.center.observationCount == 0)
    }

    @Test func `a nil name means every name`() {
        let token = observe("any", nil)
        for name in ["", "x", "a..b", "notifyd.x", ">", " "] { center.post(name: .init(name), object: nil) }
        #expect(journal.take() == ["any ", "any x", "any a..b", "any notifyd.x", "any >", "any  "])
        center.removeObserver(token)
    }

    @Test func `observers are called in order of addition, regardless of their filters`() {
        let thing = Thing()
        let tokens = [
            observe("1", nil), observe("2", name, object: thing), observe("3", name), observe("4", nil, object: thing),
        ]
        center.post(name: name, object: thing)
        #expect(journal.take().map { $0.prefix(1) } == ["1", "2", "3", "4"])
        center.post(name: name, object: Thing())
        #expect(journal.take().map { $0.prefix(1) } == ["1", "3"])
        for token in tokens { center.removeObserver(token) }
    }

    @Test func `an object filter compares instances by identity and values by equality`() {
        let thing = Thing()
        let tokens = [
            observe("thing", name, object: thing), observe("text", name, object: "text"),
            observe("number", name, object: 17), observe("type", name, object: Thing.self),
            observe("incomparable", name, object: { () in }),
        ]
        let objects: [Any] = [thing, Thing(), "text", "other", "", 17, 18, 17.0, Thing.self, { () in }]
        for object in objects { center.post(name: name, object: object) }
        center.post(name: name, object: nil)
        #expect(journal.take().map { $0.prefix { $0 != " " } } == ["thing", "text", "number", "type"])
        for token in tokens { center.removeObserver(token) }
    }

    @Test func `objects are not retained, and another object at the same address is different`() {
        weak var gone: Thing?
        var thing: Thing? = Thing()
        gone = thing
        let token = observe("thing", name, object: thing)
        thing = nil
        #expect(gone == nil)
        for _ in 0..<1000 { center.post(name: name, object: Thing()) }
        #expect(journal.take() == [])
        #expect(center.center.observationCount == 0)
        center.removeObserver(token)
    }

    private final class Plain: Sendable {
        let journal: Journal

        init(_ journal: Journal) { self.journal = journal }

        func note(_ notification: Notification) { journal.note("plain \(notification.userInfo?["n"] ?? "-")") }
    }

    /// An observer isolated to the main actor. The threads of posters may call only its nonisolated members.
    @MainActor private final class Isolated {
        nonisolated let journal: Journal

        init(_ journal: Journal) { self.journal = journal }

        nonisolated func note(_ notification: Notification) { journal.note("isolated") }
    }

    @Test @MainActor
    func `an observer with a closure observes until it is released, also on the main actor`() {
        var plain: Plain? = Plain(journal)
        var isolated: Isolated? = Isolated(journal)
        if let plain { center.addObserver(plain, name: name, object: nil) { $0.note($1) } }
        if let isolated { center.addObserver(isolated, name: nil, object: nil) { $0.note($1) } }
        center.post(name: name, object: nil, userInfo: ["n": 3])
        center.post(name: other, object: nil)
        #expect(journal.take() == ["plain 3", "isolated", "isolated"])
        (plain, isolated) = (nil, nil)
        center.post(name: name, object: nil)
        #expect(journal.take() == [])
    }

    @Test func `only Foundation's own posts to its default center reach the compatible default center`() {
        let thing = Thing()
        for name in [UserDefaults.didChangeNotification, name] {
            let token = CompatibleNotificationCenter.default.addObserver(forName: name, object: thing, queue: nil) {
                [journal] in journal.note($0.name.rawValue)
            }
            Foundation.NotificationCenter.default.post(name: name, object: thing)
            CompatibleNotificationCenter.default.removeObserver(token)
            Foundation.NotificationCenter.default.post(name: name, object: thing)
        }
        #expect(journal.take() == [UserDefaults.didChangeNotification.rawValue])
    }

    @Test func `observers may be removed and added during a post`() {
        let removal = LateValue<@Sendable () -> Void>()
        let remover = center.addObserver(forName: name, object: nil, queue: nil) { [center, journal, name] _ in
            journal.note("remover")
            removal.value?()
            _ = center.addObserver(forName: name, object: nil, queue: nil) { _ in journal.note("added") }
        }
        // Safe: the token is only passed to the center, and the center accepts tokens on any thread.
        nonisolated(unsafe) let removed = observe("removed", name)
        removal.value = { [center] in center.removeObserver(removed) }
        let last = center.addObserver(forName: name, object: nil, queue: nil) { [journal] _ in journal.note("last") }
        center.post(name: name, object: nil)
        #expect(journal.take() == ["remover", "last"])
        center.removeObserver(remover)
        center.removeObserver(last)
        center.post(name: name, object: nil)
        #expect(journal.take() == ["added"])
    }

    @Test(.timeLimit(.minutes(25))) func `canonically equivalent names are equal`() async {
        let (composed, decomposed) = (NSNotification.Name("caf\u{E9}"), NSNotification.Name("cafe\u{301}"))
        let tokens = [observe("composed", composed), observe("decomposed", decomposed)]
        let sequence = center.notifications(named: decomposed)
        for name in [composed, decomposed] {
            center.post(name: name, object: nil)
            #expect(journal.take() == ["composed \(name.rawValue)", "decomposed \(name.rawValue)"])
        }
        center.removeObserver(tokens[0], name: decomposed, object: nil)
        center.removeObserver(tokens[1], name: composed, object: nil)
        center.post(name: composed, object: nil)
        #expect(journal.take() == [])
        var iterator = sequence.makeAsyncIterator()
        for name in [composed, decomposed, composed] { #expect(await iterator.next()?.name == name) }
    }

    @Test func `observers of the underlying center get the precomposed name`() {
        let token = center.center.observe(.every) { [journal] in journal.note("\(Array($0.name.string.utf8).count)") }
        center.post(name: NSNotification.Name("cafe\u{301}"), object: nil)
        #expect(journal.take() == ["5"])
        token.cancel()
    }
}
