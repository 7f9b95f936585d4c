import NotifyBroadcast
import Synchronization
import TestSupport
import Testing

/// Tests that `MulticastDelegate` has the features of conventional implementations, and none of their faults.
@Suite struct MulticastDelegateDesignTests {
    private let journal = Journal()
    private let delegates = MulticastDelegate<any PlayerDelegate>()

    // MARK: Features

    @Test func `delegates are called in order of addition`() {
        let screens = ["a", "b", "c"].map { Screen($0, journal) }
        for screen in screens { delegates.add(screen) }
        delegates.invoke { $0.didStart("x") }
        #expect(journal.take() == ["a: x", "b: x", "c: x"])
        #expect(delegates.count == 3)
    }

    @Test func `delegates are held weakly`() {
        weak let gone: Screen?
        do {
            let screen = Screen("a", journal)
            gone = screen
            delegates.add(screen)
            delegates.invoke { $0.didStart("x") }
        }
        #expect(gone == nil)
        delegates.invoke { $0.didStart("y") }
        #expect(journal.take() == ["a: x"])
    }

    @Test func `a delegate added twice is called once, at its first position`() {
        let (a, b) = (Screen("a", journal), Screen("b", journal))
        for screen in [a, b, a] { delegates.add(screen) }
        delegates.invoke { $0.didStart("x") }
        #expect(journal.take() == ["a: x", "b: x"])
        #expect(delegates.count == 2)
    }

    @Test func `equal delegates are distinct`() {
        let twins = [Twin(), Twin()]
        let delegates = MulticastDelegate<Twin>()
        for twin in twins { delegates.add(twin) }
        #expect(twins[0] == twins[1])
        #expect(delegates.count == 2)
        delegates.remove(twins[0])
        #expect(delegates.map { $0 === twins[1] } == [true])
    }

    @Test func `a removed delegate is not called, and is last when added again`() {
        let (a, b) = (Screen("a", journal), Screen("b", journal))
        delegates.add(a)
        delegates.add(b)
        delegates.remove(a)
        delegates.remove(a)
        delegates.invoke { $0.didStart("x") }
        delegates.add(a)
        delegates.invoke { $0.didStart("y") }
        #expect(journal.take() == ["b: x", "b: y", "a: y"])
    }

    @Test func `operators add and remove delegates`() {
        let (a, b) = (Screen("a", journal), Screen("b", journal))
        delegates += a
        delegates += b
        delegates += a
        delegates.invoke { $0.didStart("x") }
        delegates -= a
        delegates -= a
        delegates.invoke { $0.didStart("y") }
        #expect(journal.take() == ["a: x", "b: x", "b: y"])
    }

    @Test func `the count ignores released delegates`() {
        #expect(delegates.isEmpty)
        let lasting = Screen("a", journal)
        do {
            let passing = Screen("b", journal)
            delegates.add(passing)
            #expect(!delegates.isEmpty)
            #expect(delegates.count == 1)
        }
        #expect(delegates.isEmpty)
        #expect(delegates.count == 0)
        delegates.add(lasting)
        #expect(!delegates.isEmpty)
        #expect(delegates.count == 1)
    }

    @Test func `results are combined with sequence operations`() throws {
        let screens = ["a", "b", "c"].map { Screen($0, journal) }
        #expect(try delegates.reduce(true) { try $0 && $1.mayStop() })
        for screen in screens { delegates += screen }
        #expect(try delegates.reduce(true) { try $0 && $1.mayStop() } == false)
        // '&&' does not evaluate its second operand once a delegate has returned false.
        #expect(journal.take() == ["a: stop?", "b: stop?"])
        #expect(try delegates.map { try $0.mayStop() } == [true, false, true])
        #expect(delegates.contains { ($0 as? Screen)?.name == "c" })
    }

    @Test func `a delegate that forwards calls is a delegate itself`() throws {
        let inner = PlayerDelegates()
        let (a, b) = (Screen("a", journal), Screen("b", journal))
        inner.delegates += a
        inner.delegates += b
        let player: any PlayerDelegate = inner
        player.didStart("x")
        #expect(journal.take() == ["a: x", "b: x"])
        delegates += inner
        delegates.invoke { $0.didStart("y") }
        #expect(journal.take() == ["a: y", "b: y"])
        #expect(try player.mayStop() == false)
    }
}

/// A class whose instances are all equal.
private final class Twin: Hashable {
    static func == (one: Twin, other: Twin) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}

// MARK: - Fault: a struct passed as a delegate was released immediately

/// Values that can't be held weakly. For some of them, the static type does not show this.
private enum Impostor: String, Codable, CaseIterable {
    case value, boxedValue, boxInBox, optionalObject, hashableBox, closure, type

    var typeName: String {
        switch self {
        case .value, .boxedValue, .boxInBox: "Value"
        case .optionalObject: "Optional<Screen>"
        case .hashableBox: "AnyHashable"
        case .closure: "() -> ()"
        case .type: "Screen.Type"
        }
    }

    func add() {
        switch self {
        case .value: MulticastDelegate<Value>().add(Value())
        case .boxedValue: MulticastDelegate<any PlayerDelegate>().add(Value())
        case .boxInBox:
            let boxed: any PlayerDelegate = Value()
            MulticastDelegate<Any>().add(boxed)
        case .optionalObject: MulticastDelegate<Screen?>().add(Screen("a", Journal()))
        case .hashableBox: MulticastDelegate<AnyHashable>().add(AnyHashable(Twin()))
        case .closure: MulticastDelegate<() -> Void>().add {}
        case .type: MulticastDelegate<Screen.Type>().add(Screen.self)
        }
    }
}

extension MulticastDelegateDesignTests {
    @Test(arguments: Impostor.allCases)
    private func `values are refused with a message, also as existentials`(_ impostor: Impostor) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [impostor] in
            impostor.add()
        }
        let output = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        let message = "\(impostor.typeName) cannot be a delegate: delegates are held weakly and must be class instances"
        #expect(output.contains(message), "\(output)")
    }

    @Test func `an object is held weakly, also as an existential`() {
        let screen = Screen("a", journal)
        let boxed: any PlayerDelegate = screen
        let anything = MulticastDelegate<Any>()
        anything.add(boxed)
        anything.add(screen)
        #expect(anything.map { $0 as? Screen === screen } == [true])
        anything.remove(boxed)
        #expect(anything.isEmpty)
    }
}

// MARK: - Fault: one failed cast ended the iteration

private protocol Plain: AnyObject {
    nonisolated func touch()
}

@MainActor private final class Bound: @MainActor Plain {
    func touch() {}
}

private final class Free: Plain {
    func touch() {}
}

extension MulticastDelegateDesignTests {
    /// Outside the main actor, the cast to a protocol fails if the conformance is isolated to the main actor.
    @Test func `a delegate that can't be cast does not end the iteration`() async {
        let free = Free()
        let identity = ObjectIdentifier(free)
        // The unsafe sharing is necessary to reach this case. Nothing is mutated while the detached task runs.
        nonisolated(unsafe) let delegates = MulticastDelegate<any Plain>()
        let bound = await MainActor.run {
            let bound = Bound()
            delegates.add(bound)
            return bound
        }
        delegates.add(free)
        #expect(await MainActor.run { delegates.map { ObjectIdentifier($0) == identity } } == [false, true])
        #expect(await Task.detached { delegates.map { ObjectIdentifier($0) == identity } }.value == [true])
        withExtendedLifetime((bound, free)) {}
    }

    @Test func `a released delegate does not end the iteration`() {
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
}

// MARK: - Fault: no thread safety

extension MulticastDelegateDesignTests {
    @Test func `concurrent adding, removing, counting and invoking is safe`() async {
        let steady = ["a", "b"].map { Screen($0, journal) }
        for screen in steady { delegates += screen }
        let rounds = 500
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask { [delegates] in
                    for _ in 0..<rounds { delegates.invoke { $0.didStart("x") } }
                }
                group.addTask { [delegates] in
                    let quiet = Journal()
                    for index in 0..<rounds {
                        let passing = Screen("p", quiet)
                        delegates += passing
                        if index % 3 == 0 { delegates -= passing }
                    }
                }
                group.addTask { [delegates] in
                    for _ in 0..<rounds {
                        #expect(!delegates.isEmpty)
                        #expect(delegates.count >= 2)
                    }
                }
            }
        }
        #expect(journal.take().count == 2 * 2 * rounds)
        // No delegate that the threads added remains, and the order of the other delegates is unchanged.
        #expect(delegates.map { ($0 as? Screen)?.name } == ["a", "b"])
        #expect(delegates.count == 2)
    }
}
