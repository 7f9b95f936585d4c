import Dispatch
import TestSupport
import Testing

@testable import NotifyCenter

/// The guarantees that hold wherever an observer runs.
@Suite(.timeLimit(.minutes(25))) struct EveryPlaceTests {
    enum Place: CaseIterable {
        case poster, owner, serially, ownerSerially, concurrently, queue, actor, mainActor, ownerOnMainActor, sequence

        var keepsOrder: Bool { self != .concurrently }
    }

    private final class Owner: Sendable {}
    private actor Ledger {}

    private struct Paid: NotificationMessage {
        static let notificationName = NotificationName(literal: "orders.created")
        let order: Int
    }

    /// A task-local value that is set only in the poster's task.
    @TaskLocal private static var ofPoster = 0

    private let center = LocalCenter()
    private let name = Paid.notificationName
    private let journal = Collector<Int>()
    // These objects must exist until the end of the test.
    private let owner = Owner()
    private let ledger = Ledger()

    /// Adds an observer that records the posted numbers. All observers with an owner have the same owner.
    private func observe(
        _ place: Place, object: NotificationObject? = nil, _ options: ObservationOptions = ObservationOptions(),
        adding increment: Int = 0
    ) -> Observing {
        let note = { @Sendable [journal] (notification: LocalNotification) in
            journal.add((notification.payload as? Int ?? -1) + increment + Self.ofPoster)
        }
        switch place {
        case .poster: return Observing(center.observe(name, object: object, options: options, using: note))
        case .owner:
            return Observing(center.observe(name, object: object, owner: owner, options: options) { note($1) })
        case .serially:
            return Observing(center.observe(name, object: object, options: options, on: .serially, using: note))
        case .ownerSerially:
            return Observing(
                center.observe(name, object: object, owner: owner, options: options, on: .serially) { note($1) })
        case .concurrently:
            return Observing(center.observe(name, object: object, options: options, on: .concurrently, using: note))
        case .queue:
            let queue = DispatchQueue(label: "observer")
            return Observing(
                center.observe(
                    name, object: object, options: options, on: .queue { queue.async(execute: $0) }, using: note))
        case .actor:
            return Observing(center.observe(name, object: object, options: options, on: ledger) { note($1) })
        case .mainActor:
            return Observing(
                center.observe(name, object: object, options: options, on: MainActor.shared) { note($0) })
        case .ownerOnMainActor:
            return Observing(
                center.observe(name, object: object, owner: owner, options: options, on: MainActor.shared) {
                    note($1)
                })
        case .sequence:
            let sequence = center.notifications(for: name, object: object, options: options)
            return Observing(sequence.observation, Task { for await notification in sequence { note(notification) } })
        }
    }

    /// Waits for `count` recorded numbers. Returns the numbers in the order of delivery if that order is defined,
    /// otherwise sorted.
    private func numbers(_ count: Int, _ place: Place) async -> [Int] {
        let values = await journal.values(count)
        return place.keepsOrder ? values : values.sorted()
    }

    @Test(arguments: Place.allCases) func `every posted message arrives`(place: Place) async {
        let observing = observe(place)
        for number in 0..<200 { center.post(name, payload: number) }
        #expect(await numbers(200, place) == Array(0..<200))
        #expect(observing.observation.isActive)
        observing.end()
        #expect(!observing.observation.isActive)
        #expect(center.observationCount == 0)
    }

    @Test(arguments: Place.allCases)
    func `task-local values of the poster reach only observers on the poster's thread`(place: Place) async {
        let observing = observe(place)
        Self.$ofPoster.withValue(100) { center.post(name, payload: 1) }
        let isOnPoster = place == .poster || place == .owner
        #expect(await journal.values(1) == [isOnPoster ? 101 : 1])
        observing.end()
    }

    @Test(arguments: Place.allCases) func `observations filter by object`(place: Place) async {
        let (one, other) = (Owner(), Owner())
        let all: [(NotificationObject, NotificationObject)] = [
            ("a", "b"), (.init(value: 1), .init(value: 2)), (.init(instance: one), .init(instance: other)),
        ]
        let observing = all.enumerated().map { observe(place, object: $1.0, adding: $0 * 10) }
        for (right, wrong) in all {
            center.post(name, object: wrong, payload: 1)
            center.post(name, payload: 2)
            center.post(name, object: right, payload: 3)
        }
        #expect(await journal.values(3).sorted() == [3, 13, 23])
        for observing in observing { observing.end() }
    }

    @Test(arguments: Place.allCases)
    func `an observation with the same key replaces the earlier one`(place: Place) async {
        let earlier = observe(place, .key("key"))
        center.post(name, payload: 0)
        _ = await journal.values(1)
        let later = observe(place, .key("key"), adding: 10)
        #expect(!earlier.observation.isActive)
        #expect(center.observationCount == 1)
        center.post(name, payload: 1)
        #expect(await numbers(2, place) == [0, 11])
        later.end()
    }

    @Test(arguments: Place.allCases) func `a once observer is called once`(place: Place) async {
        let observing = observe(place, .once)
        for number in 0..<3 { center.post(name, payload: number) }
        #expect(await journal.values(1) == [0])
        #expect(await eventually { !observing.observation.isActive })
        center.post(name, payload: 3)
        let last = observe(.serially)
        center.post(name, payload: 4)
        #expect(await journal.values(2) == [0, 4])
        last.end()
    }

    @Test(arguments: Place.allCases)
    func `messages posted during a pause are not delivered later`(place: Place) async {
        let observing = observe(place)
        center.post(name, payload: 0)
        observing.observation.pause()
        center.post(name, payload: 1)
        await center.postWaiting(name, payload: 2)
        observing.observation.resume()
        center.post(name, payload: 3)
        #expect(await numbers(2, place) == [0, 3])
        observing.end()
    }

    @Test(arguments: Place.allCases) func `values are delivered first`(place: Place) async {
        center.setValue(1, for: name)
        let observing = observe(place)
        let without = observe(place, .withoutValues, adding: 10)
        center.post(name, payload: 2)
        #expect(await journal.values(3).sorted() == [1, 2, 12])
        observing.end()
        without.end()
    }

    @Test(arguments: Place.allCases)
    func `a value ends a once observation`(place: Place) async {
        center.setValue(1, for: name)
        let observing = observe(place, .once)
        center.post(name, payload: 2)
        #expect(await journal.values(1) == [1])
        #expect(await eventually { !observing.observation.isActive })
    }

    /// Observers that share one executor are called by priority.
    @Test(arguments: [Place.poster, .owner, .mainActor, .ownerOnMainActor])
    @MainActor func `observers with a higher priority are called first`(place: Place) async {
        let observing = [1, 3, 2].map { observe(place, .priority($0), adding: Int($0)) }
        center.post(name, payload: 0)
        #expect(await journal.values(3) == [3, 2, 1])
        for observing in observing { observing.end() }
    }

    /// A post from the main actor calls main-actor observers before it returns, so a task created after the post runs
    /// after them. With a hop over another executor, the task could run first, and the observers out of order.
    @Test(arguments: [Place.mainActor, .ownerOnMainActor])
    @MainActor func `a post from the main actor calls main-actor observers before it returns`(place: Place) async {
        let observing = (1...3).map { observe(place, adding: $0) }
        center.post(name, payload: 0)
        Task { journal.add(4) }
        #expect(await journal.values(4) == [1, 2, 3, 4])
        for observing in observing { observing.end() }
    }

    @Test func `observers with a higher priority are enqueued first`() async {
        let queue = DispatchQueue(label: "observers")
        let tokens = [1, 3, 2].map { priority in
            center.observe(name, options: .priority(priority), on: .queue { queue.async(execute: $0) }) {
                [journal] _ in journal.add(Int(priority))
            }
        }
        center.post(name)
        #expect(await journal.values(3) == [3, 2, 1])
        for token in tokens { token.cancel() }
    }

    // MARK: Messages

    @Test func `a once observation counts only messages of its type`() async {
        let collector = Collector<Int>()
        let tokens = [
            center.observe(Paid.self, options: .once) { collector.add($0.order) },
            center.observe(Paid.self, options: .once, on: .serially) { collector.add($0.order) },
            center.observe(Paid.self, options: .once, on: MainActor.shared) { collector.add($0.order) },
        ]
        center.observe(Paid.self, owner: owner, options: .once) { collector.add($1.order) }
        center.observe(Paid.self, owner: owner, options: .once, on: .serially) { collector.add($1.order) }
        center.observe(Paid.self, options: .once, on: ledger) { collector.add($1.order) }
        let messages = center.messages(of: Paid.self, options: .once)
        center.post(name, payload: "something else")
        #expect(center.observationCount == 7)
        center.post(Paid(order: 1))
        center.post(Paid(order: 2))
        #expect(await collector.values(6) == [1, 1, 1, 1, 1, 1])
        var iterator = messages.makeAsyncIterator()
        #expect(await iterator.next()?.order == 1)
        #expect(await iterator.next() == nil)
        #expect(center.observationCount == 0)
        withExtendedLifetime(tokens) {}
    }
}

/// An observation, and the token or task that keeps the observation active.
private struct Observing: Sendable {
    let observation: ObservationHandle
    private let token: ObservationToken?
    private let reader: Task<Void, Never>?

    init(_ token: ObservationToken) {
        (observation, self.token, reader) = (token.observation, token, nil)
    }

    init(_ observation: ObservationHandle, _ reader: Task<Void, Never>? = nil) {
        (self.observation, token, self.reader) = (observation, nil, reader)
    }

    func end() { observation.cancel() }
}
