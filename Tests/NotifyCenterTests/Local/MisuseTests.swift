import Synchronization
import TestSupport
import Testing

@testable import NotifyCenter

/// Unusual uses of a center. None of them crashes, leaks, or changes the order of other calls.
@Suite struct MisuseTests {
    private let center = LocalCenter()
    private let journal = Journal()
    private let name = NotificationName(literal: "orders.paid")

    private struct Failure: Error {}

    private func observe(_ label: String) -> ObservationToken {
        center.observe(name) { [journal] _ in journal.note(label) }
    }

    // MARK: Throwing

    @Test func `an observer that throws does not affect the others`() {
        let failures = Atomic(0)
        center.hooks.failed = { [center, name] _ in
            // The hook itself may post, and may add and end an observation.
            failures.wrappingAdd(1, ordering: .relaxed)
            center.post(NotificationName(literal: "failed"))
            _ = center.observe(name) { _ in }
        }
        let tokens = (0..<10).map { index in
            center.observe(name) { [journal] _ in
                if index % 3 == 0 { throw Failure() }
                journal.note("\(index)")
            }
        }
        for _ in 0..<2 {
            center.post(name)
            #expect(journal.take() == ["1", "2", "4", "5", "7", "8"])
        }
        #expect(failures.load(ordering: .relaxed) == 8)
        withExtendedLifetime(tokens) {}
        // Breaks the reference cycle of the center and the hook.
        center.hooks = CenterHooks()
    }

    // MARK: Removing during a post

    @Test func `an owner released during the post is not called and the others are`() {
        let owners = LateValue<[Thing]>()
        owners.value = (0..<5).map { _ in Thing() }
        let gone = owners.value?.map { Weak($0) } ?? []
        var tokens = [observe("first")]
        for (index, owner) in (owners.value ?? []).enumerated() {
            center.observe(name, owner: owner) { [journal] _, _ in
                journal.note("\(index)")
                // The owner of the current call is released when the call returns, the other owners immediately.
                if index == 2 { owners.value = nil }
            }
        }
        tokens.append(observe("last"))
        center.post(name)
        #expect(journal.take() == ["first", "0", "1", "2", "last"])
        #expect(gone.count { !$0.isGone } == 0)
        center.post(name)
        #expect(journal.take() == ["first", "last"])
        #expect(center.observationCount == 2)
        withExtendedLifetime(tokens) {}
    }

    @Test func `an observer that removes itself leaves the others in order`() {
        let own = LateValue<ObservationToken>()
        let captured = LateValue<Thing>()
        captured.value = Thing()
        let gone = Weak(captured.value)
        let first = observe("first")
        own.value = center.observe(name) { [journal, thing = captured.value] _ in
            own.value = nil
            // The captures of the closure are released only after the closure returns.
            journal.note("self \(thing == nil ? "gone" : "there")")
        }
        captured.value = nil
        let last = observe("last")
        center.post(name)
        #expect(journal.take() == ["first", "self there", "last"])
        #expect(gone.isGone)
        center.post(name)
        #expect(journal.take() == ["first", "last"])
        withExtendedLifetime((first, last)) {}
    }

    @Test func `an observer that removes another leaves the others in order`() {
        let tokens = LateValue<[ObservationToken]>()
        tokens.value = (0..<6).map { index in
            center.observe(name) { [journal] _ in
                journal.note("\(index)")
                // Cancels an observer that was already called, and an observer that was not.
                if index == 2 {
                    tokens.value?[0].cancel()
                    tokens.value?[4].cancel()
                }
            }
        }
        center.post(name)
        #expect(journal.take() == ["0", "1", "2", "3", "5"])
        center.post(name)
        #expect(journal.take() == ["1", "2", "3", "5"])
        tokens.value = nil
    }

    @Test func `an observer that removes all observations is called last`() throws {
        let owner = Thing()
        var tokens = [observe("first")]
        center.observe(name, owner: owner) { [journal] _, _ in journal.note("owned") }
        tokens.append(
            try center.observe("orders.*") { [center, journal] _ in
                journal.note("remover")
                center.removeAllObservations()
            })
        tokens.append(observe("last"))
        center.observe(name, owner: owner) { [journal] _, _ in journal.note("owned last") }
        center.post(name)
        #expect(journal.take() == ["first", "owned", "remover"])
        #expect(center.observationCount == 0)
        center.post(name)
        #expect(journal.take() == [])
        let next = observe("next")
        center.post(name)
        #expect(journal.take() == ["next"])
        withExtendedLifetime((owner, tokens, next)) {}
    }

    @Test func `an owner may remove itself during the post`() {
        let owner = Thing()
        let first = observe("first")
        for index in 0..<3 {
            center.observe(name, owner: owner) { [center, journal] owner, _ in
                journal.note("\(index)")
                if index == 1 { center.removeObservations(of: owner) }
            }
        }
        let last = observe("last")
        center.post(name)
        #expect(journal.take() == ["first", "0", "1", "last"])
        #expect(center.observationCount == 2)
        withExtendedLifetime((first, last)) {}
    }

    // MARK: Posting from inside

    enum PostMethod: CaseIterable {
        case byName, typed, value, intercepted
    }

    @Test(arguments: PostMethod.allCases)
    func `posts of the same name may be nested a thousand deep`(_ method: PostMethod) {
        let depth = LateValue<Int>()
        depth.value = 0
        let post = { @Sendable [center, name] in
            switch method {
            case .byName, .intercepted: center.post(name)
            case .typed: center.post(OrderPaid(amount: 0))
            case .value: center.setValue(nil, for: name)
            }
        }
        let interceptor = method == .intercepted ? center.intercept { $1($0) } : nil
        let owner = Thing()
        center.observe(name, owner: owner) { [journal] _, _ in
            let current = (depth.value ?? 0) + 1
            depth.value = current
            if current < 1_000 { post() }
            journal.note("\(current)")
        }
        let other = observe("other")
        post()
        let notes = journal.take()
        #expect(notes.count == 2_000)
        #expect(notes.enumerated().allSatisfy { $1 == ($0 % 2 == 0 ? "\(1_000 - $0 / 2)" : "other") })
        withExtendedLifetime((interceptor, other)) {}
        // Breaks the reference cycle of the center and the observer.
        center.removeAllObservations()
    }

    // MARK: A hundred thousand

    @Test func `an owner may have a hundred thousand observations`() {
        var owner: Thing? = Thing()
        let gone = Weak(owner)
        center.hooks.repeated = { _ in }
        let calls = Atomic(0)
        // Each observer checks the position of its call.
        let disorder = Atomic(0)
        for index in 0..<100_000 {
            guard let owner else { return }
            center.observe(name, owner: owner) { _, _ in
                let turn = calls.wrappingAdd(1, ordering: .relaxed).oldValue
                if turn % 100_000 != index { disorder.wrappingAdd(1, ordering: .relaxed) }
            }
        }
        center.post(name)
        #expect(calls.load(ordering: .relaxed) == 100_000)
        #expect(disorder.load(ordering: .relaxed) == 0)
        #expect(center.observationCount == 100_000)
        if let owner { center.removeObservations(of: owner) }
        #expect(center.observationCount == 0)
        center.post(name)
        #expect(calls.load(ordering: .relaxed) == 100_000)
        owner = nil
        #expect(gone.isGone)
    }

    // MARK: Cycles

    @Test func `a token held by its own closure ends when cancelled`() {
        let token = LateValue<ObservationToken>()
        let gone = { [center, name] in
            let captured = Thing()
            token.value = center.observe(name) { _ in withExtendedLifetime((captured, token)) {} }
            return Weak(captured)
        }()
        center.post(name)
        #expect(!gone.isGone)
        token.value?.cancel()
        #expect(gone.isGone)
    }

    @Test func `a center with an observer is released with its last reference`() {
        var center: LocalCenter? = LocalCenter()
        let gone = Weak(center)
        let owner = Thing()
        if let center { center.observe(name, owner: owner) { _, _ in } }
        center = nil
        #expect(gone.isGone)
        withExtendedLifetime(owner) {}
    }

    /// The center and the closure of the observer hold each other.
    @Test func `a center held only by an observer is released when the observation ends`() {
        var center: LocalCenter? = LocalCenter()
        let gone = Weak(center)
        var owner: Thing? = Thing()
        if let center, let owner {
            center.observe(name, owner: owner) { _, _ in withExtendedLifetime(center) {} }
        }
        center = nil
        #expect(!gone.isGone)
        owner = nil
        #expect(!gone.isGone, "the observation of a released owner ends with the next post")
        gone.value?.post(name)
        #expect(gone.isGone)
    }
}
