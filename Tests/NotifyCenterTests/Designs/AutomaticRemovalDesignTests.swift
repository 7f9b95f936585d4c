import TestSupport
import Testing

@testable import NotifyCenter

/// Other libraries remove observers automatically. Tests that this center does so, too, without the faults known from
/// those libraries.
@Suite struct AutomaticRemovalDesignTests {
    private let center = LocalCenter()
    private let journal = Journal()
    private let name = NotificationName(literal: "screen.shown")

    /// An object that registers an observer in its initializer. The tests create many such objects.
    private final class Screen: Sendable {
        let number: Int
        let journal: Journal

        init(_ number: Int, _ journal: Journal, center: LocalCenter) {
            self.number = number
            self.journal = journal
            center.observe(NotificationName(literal: "screen.shown"), owner: self) { $0.shown($1) }
        }

        func shown(_ notification: LocalNotification) { journal.note("screen \(number)") }
    }

    // MARK: Features

    @Test func `two calls are enough to observe and post`() throws {
        let owner = Thing()
        try center.observe("screen.shown", owner: owner) { [journal] _, notification in
            journal.note(notification.payload as? String ?? "-")
        }
        try center.post("screen.shown", payload: "hello")
        #expect(journal.take() == ["hello"])
    }

    @Test func `observations are removed automatically`() {
        var screen: Screen? = Screen(1, journal, center: center)
        let gone = Weak(screen)
        center.post(name)
        screen = nil
        #expect(gone.isGone)
        center.post(name)
        #expect(journal.take() == ["screen 1"])
        #expect(center.observationCount == 0)
    }

    // MARK: The fault

    @Test func `handlers of released instances are removed`() {
        for number in 0..<100 {
            let screen = Screen(number, journal, center: center)
            center.post(name)
            #expect(journal.take() == ["screen \(number)"])
            withExtendedLifetime(screen) {}
        }
        center.post(name)
        #expect(journal.take() == [])
        #expect(center.observationCount == 0)
    }

    @Test func `the handler of each instance is called with its instance`() {
        let screens = (1...3).map { Screen($0, journal, center: center) }
        center.post(name)
        #expect(journal.take() == ["screen 1", "screen 2", "screen 3"])
        withExtendedLifetime(screens) {}
    }

    @Test func `repeated registration causes a warning, unless a key is given`() {
        center.hooks.repeated = { [journal] in journal.note("\($0.ownerType)") }
        let owner = Thing()
        for _ in 0..<20 { center.observe(name, owner: owner) { _, _ in } }
        #expect(journal.take() == ["Thing"])
        let other = Thing()
        for round in 0..<20 {
            center.observe(name, owner: other, options: .key("shown")) { [journal] _, _ in journal.note("\(round)") }
        }
        center.post(name)
        #expect(journal.take() == ["19"])
    }
}
