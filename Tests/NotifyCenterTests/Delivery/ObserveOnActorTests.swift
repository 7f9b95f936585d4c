import Foundation
import Synchronization
import Testing

@_spi(Package) @testable import NotifyCenter

@Suite(.timeLimit(.minutes(25))) struct ObserveOnActorTests {
    private static let name = NotificationName(literal: "orders.created")
    private let center = LocalCenter()
    private let name = Self.name

    private struct Paid: NotificationMessage {
        static let notificationName = ObserveOnActorTests.name
        let order: Int
    }

    private actor Ledger {
        private(set) var numbers: [Int] = []
        let seen: Collector<Int>

        init(_ seen: Collector<Int>) { self.seen = seen }

        func note(_ number: Int) {
            numbers.append(number)
            seen.add(number)
        }

        /// Posts and cancels without a suspension in between.
        func postAndCancel(_ observation: ObservationHandle, _ center: LocalCenter, _ name: NotificationName) -> Int {
            for number in 0..<10 { center.post(name, payload: number) }
            observation.cancel()
            return numbers.count
        }

        /// Posts until a notification has left the buffer and waits for this actor, and then cancels the observation.
        /// The notification waits because the actor is running this method.
        ///
        /// - Returns: Whether a notification was waiting.
        func cancelDuringDelivery(_ observation: ObservationHandle, _ center: LocalCenter, _ name: NotificationName)
            -> Bool
        {
            defer { observation.cancel() }
            center.post(name, payload: 0)
            // Other tests may occupy all threads. A yield may then take as long as the tasks of these tests run.
            for _ in 0..<1_000 {
                // The buffer holds one notification. If this post is not dropped, the first notification has left the
                // buffer.
                let lost = observation.droppedCount
                center.post(name, payload: 1)
                if observation.droppedCount == lost { return true }
                sched_yield()
            }
            return false
        }
    }

    @MainActor private final class Screen {
        private(set) var numbers: [Int] = []
        let seen: Collector<Int>

        init(_ seen: Collector<Int>) { self.seen = seen }

        func show(_ number: Int) {
            numbers.append(number)
            seen.add(number)
        }

        func didPay(_ paid: Paid) {
            MainActor.assertIsolated()
            show(paid.order)
        }

        func didPost(_ notification: LocalNotification) throws {
            MainActor.assertIsolated()
            show((notification.payload as? Paid)?.order ?? -1)
        }
    }

    private func post(_ numbers: Range<Int>) {
        for number in numbers { center.post(name, payload: number) }
    }

    // MARK: An actor

    @Test(arguments: 0..<20) func `a closure on an actor is isolated to it`(round: Int) async throws {
        let seen = Collector<Int>()
        let ledger = Ledger(seen)
        center.observe(name, on: ledger) { ledger, notification in
            ledger.assertIsolated()
            ledger.note(notification.payload as? Int ?? -1)
        }
        center.observe(Paid.self, on: ledger) { ledger, paid in
            ledger.assertIsolated()
            await Task.yield()
            ledger.assertIsolated()
            ledger.note(paid.order + 1_000)
        }
        try center.observe("orders.*", on: ledger) { ledger, _ in ledger.note(2_000) }
        post(0..<100)
        center.post(Paid(order: 1))
        let values = await seen.values(100 + 1 + 1 + 101)
        #expect(values.filter { $0 < 1_000 } == Array(0..<100) + [-1] || values.filter { $0 < 0 } == [-1])
        #expect(values.filter { 0..<1_000 ~= $0 } == Array(0..<100))
        #expect(values.filter { 1_000..<2_000 ~= $0 } == [1_001])
        #expect(values.count { $0 == 2_000 } == 101)
        #expect(await ledger.numbers == values)
    }

    @Test(arguments: 0..<20)
    func `an actor is held weakly and drops buffered messages when released`(round: Int) async {
        let (begun, gate, seen) = (Gate(), Gate(), Collector<Int>())
        var ledger: Ledger? = Ledger(seen)
        let watched = Weak(ledger)
        if let ledger {
            center.observe(name, on: ledger) { ledger, notification in
                begun.open()
                await gate.pass()
                ledger.note(notification.payload as? Int ?? -1)
            }
        }
        post(0..<10)
        await begun.pass()
        ledger = nil
        gate.open()
        #expect(await eventually { watched.isGone })
        #expect(await eventually { center.state.withLock { $0.core.registrationCount } == 0 })
        #expect(seen.values == [0])
    }

    @Test(arguments: 0..<100)
    func `no call begins on an actor after the actor has ended the observation`(round: Int) async {
        let ledger = Ledger(Collector())
        let observation = center.observe(name, on: ledger) { ledger, notification in
            ledger.note(notification.payload as? Int ?? -1)
        }
        let count = await ledger.postAndCancel(observation, center, name)
        for _ in 0..<20 { await Task.yield() }
        #expect(await ledger.numbers.count == count)
    }

    @Test func `a call enqueued on an actor does not begin after the observation ends`() async {
        let seen = Collector<Int>()
        let ledger = Ledger(seen)
        var count = 0
        for _ in 0..<10 {
            let observation = center.observe(name, on: ledger, buffering: .dropNewest(limit: 1)) { ledger, _ in
                ledger.note(0)
            }
            if await ledger.cancelDuringDelivery(observation, center, name) { count += 1 }
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(seen.values == [], "\(count) notifications waited for the actor")
    }

    // MARK: The main actor

    @Test @MainActor func `the main actor runs its observers`() async throws {
        let seen = Collector<Int>()
        let screen = Screen(seen)
        var tokens = [
            center.observe(name, on: MainActor.shared) { notification in
                MainActor.assertIsolated()
                screen.show(notification.payload as? Int ?? -1)
            }
        ]
        tokens.append(
            center.observe(Paid.self, on: .shared) { paid in
                await Task.yield()
                screen.show(paid.order)
            })
        tokens.append(try center.observe("orders.*", on: MainActor.shared) { _ in screen.show(-2) })
        await Task.detached { [center, name] in
            for number in 0..<200 { center.post(name, payload: number) }
            center.post(Paid(order: 300))
        }.value
        let values = await seen.values(200 + 1 + 1 + 201)
        #expect(values.filter { 0..<200 ~= $0 } == Array(0..<200))
        #expect(values.count { $0 == 300 } == 1)
        #expect(screen.numbers == values)
        for token in tokens { token.cancel() }
    }

    @Test @MainActor func `no call begins on the main actor after the main actor has ended the observation`() async {
        let screen = Screen(Collector())
        for round in 0..<100 {
            let token = center.observe(name, on: MainActor.shared) { _ in screen.show(round) }
            post(0..<5)
            for _ in 0..<round % 4 { await Task.yield() }
            token.cancel()
            let count = screen.numbers.count
            for _ in 0..<10 { await Task.yield() }
            #expect(screen.numbers.count == count)
        }
    }

    @Test @MainActor func `an owner on the main actor is held weakly`() async throws {
        let seen = Collector<Int>()
        var screen: Screen? = Screen(seen)
        let watched = Weak(screen)
        if let screen {
            center.observe(name, owner: screen, on: MainActor.shared) { screen, notification in
                screen.show(notification.payload as? Int ?? -1)
            }
            center.observe(Paid.self, owner: screen, on: MainActor.shared) { screen, paid in screen.show(paid.order) }
            try center.observe("orders.*", owner: screen, on: MainActor.shared) { screen, _ in
                await Task.yield()
                screen.show(100)
            }
        }
        post(0..<3)
        let values = await seen.values(6)
        #expect(values.filter { $0 < 100 } == [0, 1, 2])
        onOtherThread { [center, name] in
            for number in 3..<5 { center.post(name, payload: number) }
        }
        screen = nil
        // The observations by name and by pattern end with their buffered notifications, because the owner has been
        // released. The observation of `Paid` has no buffered notification, so its registration remains.
        #expect(await eventually { watched.isGone && center.state.withLock { $0.core.registrationCount } == 1 })
        #expect(center.observationCount == 0)
        #expect(seen.values.count == 6)
    }

    @Test func `methods of an owner on the main actor are called`() async throws {
        let seen = Collector<Int>()
        let screen = await Screen(seen)
        center.observe(name, owner: screen, on: MainActor.shared) { try $0.didPost($1) }
        try center.observe("orders.*", owner: screen, on: MainActor.shared) { try $0.didPost($1) }
        center.observe(Paid.self, owner: screen, on: MainActor.shared) { $0.didPay($1) }
        center.post(Paid(order: 7))
        #expect(await seen.values(3) == [7, 7, 7])
    }

    @Test @MainActor func `other main-actor tasks progress while many messages are pending`() async {
        let most = 100_000
        let calls = Atomic(0)
        // Each call posts the next notification, so a notification is always pending. If no other task could run, the
        // number of calls would reach `most`.
        let token = center.observe(name, on: MainActor.shared) { [center, name] _ in
            let count = calls.wrappingAdd(1, ordering: .relaxed).newValue
            if count < most { center.post(name) }
        }
        center.post(name)
        // These tasks are enqueued on the main actor directly. A yield would hop over another thread.
        for _ in 0..<3 { await Task { @MainActor in }.value }
        token.cancel()
        #expect((1..<most).contains(calls.load(ordering: .relaxed)))
    }
}
