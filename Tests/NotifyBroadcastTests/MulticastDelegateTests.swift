import NotifyBroadcast
import Synchronization
import Testing

private protocol PlayerDelegate: Sendable {
    func didStart(_ track: String)
    func mayStop() throws -> Bool
}

private final class Screen: PlayerDelegate {
    let name: String
    let journal: Journal
    let onStart: @Sendable (Screen) -> Void
    let failure: Failure?

    init(
        _ name: String, _ journal: Journal, failure: Failure? = nil,
        onStart: @escaping @Sendable (Screen) -> Void = { _ in }
    ) {
        self.name = name
        self.journal = journal
        self.failure = failure
        self.onStart = onStart
    }

    func didStart(_ track: String) {
        journal.note("\(name): \(track)")
        onStart(self)
    }

    func mayStop() throws -> Bool {
        journal.note("\(name): stop?")
        if let failure { throw failure }
        return name != "b"
    }
}

private struct Value: PlayerDelegate {
    func didStart(_ track: String) {}
    func mayStop() throws -> Bool { true }
}

/// A multicast delegate that is a delegate itself.
private final class PlayerDelegates: MulticastDelegate<any PlayerDelegate>, PlayerDelegate, @unchecked Sendable {
    func didStart(_ track: String) { invoke { $0.didStart(track) } }
    func mayStop() throws -> Bool { try allSatisfy { try $0.mayStop() } }
}

@Suite struct MulticastDelegateTests {
    private let journal = Journal()
    private let delegates = MulticastDelegate<any PlayerDelegate>()

    // MARK: Adding and removing

    @Test func `delegates are called in order of addition`() {
        let screens = ["a", "b", "c"].map { Screen($0, journal) }
        for screen in screens { delegates += screen }
        delegates.invoke { $0.didStart("x") }
        #expect(journal.take() == ["a: x", "b: x", "c: x"])
        #expect(delegates.count == 3)
    }

    @Test func `one that is added twice is called once, in its first place`() {
        let (a, b) = (Screen("a", journal), Screen("b", journal))
        for screen in [a, b, a] { delegates.add(screen) }
        delegates.invoke { $0.didStart("x") }
        #expect(journal.take() == ["a: x", "b: x"])
        #expect(delegates.count == 2)
    }

    @Test func `one that is removed is not called, and comes last when it is added again`() {
        let (a, b) = (Screen("a", journal), Screen("b", journal))
        delegates += a
        delegates += b
        delegates -= a
        delegates -= a
        delegates.invoke { $0.didStart("x") }
        delegates.add(a)
        delegates.invoke { $0.didStart("y") }
        #expect(journal.take() == ["b: x", "b: y", "a: y"])
        delegates.remove(a)
        delegates.remove(b)
        #expect(delegates.isEmpty)
    }

    @Test func `only the living count`() {
        var screen: Screen? = Screen("a", journal)
        weak let gone = screen
        #expect(delegates.isEmpty)
        delegates.add(screen!)
        #expect(!delegates.isEmpty)
        #expect(delegates.count == 1)
        screen = nil
        #expect(gone == nil)
        #expect(delegates.isEmpty)
        #expect(delegates.count == 0)
        #expect(Array(delegates).isEmpty)
    }

    @Test func `one that is gone does not end the iteration`() {
        let first = Screen("a", journal)
        let last = Screen("c", journal)
        delegates += first
        do {
            let between = Screen("b", journal)
            delegates += between
            delegates += last
            delegates.invoke { $0.didStart("x") }
        }
        delegates.invoke { $0.didStart("y") }
        #expect(journal.take() == ["a: x", "b: x", "c: x", "a: y", "c: y"])
    }

    // MARK: What cannot be one

    @Test func `a value is refused with a message`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            MulticastDelegate<any PlayerDelegate>().add(Value())
        }
        let output = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            output.contains(
                "Value cannot be a delegate: a delegate is held weakly and has to be an instance of a class"))
    }

    @Test func `an optional is refused, too`() async {
        await #expect(processExitsWith: .failure) {
            let screen: Screen? = Screen("a", Journal())
            MulticastDelegate<Screen?>().add(screen)
        }
    }

    // MARK: Answers

    @Test func `answers are combined as those of any sequence`() throws {
        let screens = ["a", "b", "c"].map { Screen($0, journal) }
        for screen in screens { delegates += screen }
        #expect(try delegates.reduce(true) { try $0 && $1.mayStop() } == false)
        #expect(try delegates.map { try $0.mayStop() } == [true, false, true])
        #expect(delegates.contains { ($0 as? Screen)?.name == "c" })
    }

    @Test func `all are called when some throw, and what was thrown is thrown`() {
        let screens = [
            Screen("a", journal, failure: Failure(name: "1")), Screen("b", journal),
            Screen("c", journal, failure: Failure(name: "2")),
        ]
        for screen in screens { delegates += screen }
        let error = #expect(throws: BroadcastError.self) {
            try delegates.invoke { _ = try $0.mayStop() }
        }
        #expect(error?.code == .receiversThrew)
        #expect(error?.errors.compactMap { $0 as? Failure } == [Failure(name: "1"), Failure(name: "2")])
        #expect(journal.take() == ["a: stop?", "b: stop?", "c: stop?"])
    }

    // MARK: A subclass

    @Test func `a subclass that conforms passes calls on, and is a delegate itself`() throws {
        let inner = PlayerDelegates()
        let (a, b) = (Screen("a", journal), Screen("b", journal))
        inner += a
        inner += b
        delegates += inner
        delegates.invoke { $0.didStart("x") }
        #expect(journal.take() == ["a: x", "b: x"])
        #expect(try inner.mayStop() == false)
    }

    // MARK: During an invocation

    @Test func `one that is added during an invocation is called by the next`() {
        let late = Screen("late", journal)
        let first = Screen("a", journal) { [delegates] _ in delegates += late }
        delegates += first
        delegates.invoke { $0.didStart("x") }
        #expect(journal.take() == ["a: x"])
        delegates.invoke { $0.didStart("y") }
        #expect(journal.take() == ["a: y", "late: y"])
    }

    @Test func `one that is removed before its turn is not called`() {
        let last = Screen("c", journal)
        let first = Screen("a", journal) { [delegates] screen in
            delegates -= last
            delegates -= screen
        }
        let between = Screen("b", journal)
        for screen in [first, between, last] { delegates += screen }
        delegates.invoke { $0.didStart("x") }
        #expect(journal.take() == ["a: x", "b: x"])
        #expect(delegates.map { ($0 as? Screen)?.name } == ["b"])
    }

    @Test func `one that is removed and added again before its turn is called by the next`() {
        let last = Screen("b", journal)
        let first = Screen("a", journal) { [delegates] _ in
            delegates -= last
            delegates += last
        }
        delegates += first
        delegates += last
        delegates.invoke { $0.didStart("x") }
        #expect(journal.take() == ["a: x"])
    }

    @Test func `delegates may invoke from inside, a thousand times deep`() {
        let depth = Atomic(0)
        let screen = Screen("a", journal) { [delegates] _ in
            if depth.add(1, ordering: .relaxed).newValue < 1_000 { delegates.invoke { $0.didStart("deep") } }
        }
        delegates += screen
        delegates.invoke { $0.didStart("x") }
        #expect(depth.load(ordering: .relaxed) == 1_000)
        #expect(journal.entries.count == 1_000)
    }
}

// MARK: - A delegate that is none everywhere

private protocol Plain: AnyObject {
    nonisolated func touch()
}

@MainActor private final class Bound: @MainActor Plain {
    func touch() {}
}

private final class Free: Plain {
    func touch() {}
}

extension MulticastDelegateTests {
    /// A conformance that is bound to the main actor does not hold on another thread, so the cast to the protocol fails there.
    @Test func `one that is not castable does not end the iteration`() async {
        let free = Free()
        // Shared against the compiler's advice: that is the situation. Nothing is changed while the detached task runs.
        nonisolated(unsafe) let delegates = MulticastDelegate<any Plain>()
        let bound = await MainActor.run {
            let bound = Bound()
            delegates.add(bound)
            return bound
        }
        delegates.add(free)
        let called = await Task.detached { delegates.map { $0 === free } }.value
        #expect(called.last == true)
        withExtendedLifetime(bound) {}
    }
}
