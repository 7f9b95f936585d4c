import NotifyBroadcast
import Synchronization
import TestSupport
import Testing

@Suite struct MulticastDelegateTests {
    private let journal = Journal()
    private let delegates = MulticastDelegate<any PlayerDelegate>()

    @Test func `all delegates are called when some throw, and then the errors are thrown`() {
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

    // MARK: During an invocation

    @Test func `a delegate added during an invocation is called by the next invocation`() {
        let late = Screen("late", journal)
        let first = Screen("a", journal) { [delegates] _ in delegates += late }
        delegates += first
        delegates.invoke { $0.didStart("x") }
        #expect(journal.take() == ["a: x"])
        delegates.invoke { $0.didStart("y") }
        #expect(journal.take() == ["a: y", "late: y"])
    }

    @Test func `a delegate removed before its call is not called`() {
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

    @Test func `a delegate removed and added again during an invocation is called by the next`() {
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

    @Test func `delegates may invoke delegates, a thousand calls deep`() {
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
