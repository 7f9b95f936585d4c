import Foundation
import NotifyCenter
import NotifyFoundation
import TestSupport
import Testing

/// The documented behaviour of Foundation's notification queue. Most tests run the run loop of a new thread.
@Suite struct CompatibleNotificationQueueTests {
    private static let here = NSNotification.Name("here")
    private static let there = NSNotification.Name("there")

    /// Runs `body` on a new thread, and then the run loop of that thread until no work is left. Returns the posted
    /// notifications, and "loop" at the position at which `body` returned.
    private func posted(
        mode: RunLoop.Mode = .default,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ body: @escaping @Sendable (CompatibleNotificationQueue, Journal) -> Void
    ) -> [String] {
        let journal = Journal()
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            let center = CompatibleNotificationCenter()
            _ = center.addObserver(forName: nil, object: nil, queue: nil) {
                journal.note("\($0.name.rawValue) \($0.object ?? "-")")
            }
            body(CompatibleNotificationQueue(notificationCenter: center), journal)
            journal.note("loop")
            self.run(in: mode)
            done.signal()
        }
        #expect(done.wait(timeout: .now() + 300) == .success, sourceLocation: sourceLocation)
        return journal.take()
    }

    /// Runs the run loop until no work is left.
    private func run(in mode: RunLoop.Mode) {
        // The timer wakes the run loop once. Before that, the run loop does not check for remaining work.
        RunLoop.current.add(Timer(fire: Date(), interval: 0, repeats: false) { _ in }, forMode: mode)
        while RunLoop.current.run(mode: mode, before: .distantFuture) {}
    }

    @Test(arguments: [CompatibleNotificationQueue.PostingStyle.asap, .whenIdle])
    func `pending notifications are posted by the run loop in order`(style: CompatibleNotificationQueue.PostingStyle) {
        let notes = posted { queue, _ in
            for n in 1...3 {
                queue.enqueue(Notification(name: Self.here, object: n), postingStyle: style)
            }
        }
        #expect(notes == ["loop", "here 1", "here 2", "here 3"])
    }

    @Test func `the now style posts before the call returns and replaces pending notifications`() {
        let notes = posted { queue, journal in
            queue.enqueue(Notification(name: Self.here, object: 1), postingStyle: .asap)
            queue.enqueue(Notification(name: Self.here, object: 1), postingStyle: .now)
            journal.note("returned")
        }
        #expect(notes == ["here 1", "returned", "loop"])
    }

    @Test func `the now style posts nothing while the run loop runs in another mode`() {
        let mode = RunLoop.Mode("a mode of our own")
        let notes = posted { queue, journal in
            nonisolated(unsafe) let queue = queue
            func enqueueAll() {
                queue.enqueue(Notification(name: Self.here), postingStyle: .now)
                queue.enqueue(
                    Notification(name: Self.here, object: 1), postingStyle: .now, coalesceMask: [], forModes: [mode])
                queue.enqueue(
                    Notification(name: Self.here, object: 2), postingStyle: .now, coalesceMask: [], forModes: [.common])
            }
            nonisolated(unsafe) let enqueue = enqueueAll
            RunLoop.current.perform(inModes: [mode]) { enqueue() }
            self.run(in: mode)
            journal.note("other mode")
            RunLoop.current.perform(inModes: [.default]) { enqueue() }
            self.run(in: .default)
            journal.note("default mode")
        }
        #expect(notes == ["here 1", "other mode", "here -", "default mode", "loop"])
    }

    /// Calls `enqueue` for each of several lists of modes: while no run loop runs, and while the run loop runs in each
    /// of two modes.
    private func postedNow(
        _ enqueue: @escaping @Sendable (_ label: String, _ modes: [RunLoop.Mode]?) -> Void
    ) {
        let own = RunLoop.Mode("a mode of our own")
        let lists = [nil, [], [.default], [own], [own, .default], [.common], [.common, own]]
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            for modes in lists { enqueue("no loop \(modes?.map(\.rawValue) ?? ["nil"])", modes) }
            for mode in [own, .default] {
                RunLoop.current.perform(inModes: [mode]) {
                    for modes in lists { enqueue("\(mode.rawValue) \(modes?.map(\.rawValue) ?? ["nil"])", modes) }
                }
                self.run(in: mode)
            }
            done.signal()
        }
        #expect(done.wait(timeout: .now() + 300) == .success)
    }

    @Test func `the now style posts in the same modes as Foundation's queue`() {
        let (ours, foundations) = (Journal(), Journal())
        let center = CompatibleNotificationCenter()
        _ = center.addObserver(forName: nil, object: nil, queue: nil) { ours.note("\($0.object ?? "-")") }
        postedNow { label, modes in
            CompatibleNotificationQueue(notificationCenter: center).enqueue(
                Notification(name: Self.here, object: label), postingStyle: .now, coalesceMask: [], forModes: modes)
        }
        let foundationCenter = Foundation.NotificationCenter()
        _ = foundationCenter.addObserver(forName: Self.here, object: nil, queue: nil) {
            foundations.note("\($0.object ?? "-")")
        }
        postedNow { label, modes in
            Foundation.NotificationQueue(notificationCenter: foundationCenter).enqueue(
                Notification(name: Self.here, object: label), postingStyle: .now, coalesceMask: [], forModes: modes)
        }
        let notes = ours.take()
        #expect(notes == foundations.take())
        #expect(notes.count == 13)
    }

    @Test(arguments: [CompatibleNotificationQueue.PostingStyle.asap, .whenIdle])
    func `the common modes include the default mode`(style: CompatibleNotificationQueue.PostingStyle) {
        let notes = posted { queue, _ in
            for number in 1...2 {
                queue.enqueue(
                    Notification(name: Self.here, object: number), postingStyle: style, coalesceMask: [],
                    forModes: [.common])
            }
        }
        #expect(notes == ["loop", "here 1", "here 2"])
    }

    @Test(arguments: [CompatibleNotificationQueue.PostingStyle.asap, .whenIdle])
    func `later notifications are posted by the next run of the loop`(style: CompatibleNotificationQueue.PostingStyle) {
        let notes = posted { queue, journal in
            for number in 1...3 {
                queue.enqueue(Notification(name: Self.here, object: number), postingStyle: style)
                self.run(in: .default)
                journal.note("ran")
            }
        }
        #expect(notes == ["here 1", "ran", "here 2", "ran", "here 3", "ran", "loop"])
    }

    @Test func `an asap notification enqueued just before the loop becomes idle precedes idle ones`() {
        let notes = posted { queue, _ in
            nonisolated(unsafe) let queue = queue
            let earlier = Timer(fire: Date(timeIntervalSinceNow: -1), interval: 0, repeats: false) { _ in
                queue.enqueue(Notification(name: Self.here, object: "soon"), postingStyle: .asap)
            }
            RunLoop.current.add(earlier, forMode: .default)
            queue.enqueue(Notification(name: Self.here, object: "idle"), postingStyle: .whenIdle)
        }
        #expect(notes == ["loop", "here soon", "here idle"])
    }

    @Test func `asap notifications precede idle ones`() {
        let notes = posted { queue, _ in
            queue.enqueue(Notification(name: Self.here, object: "idle"), postingStyle: .whenIdle)
            queue.enqueue(Notification(name: Self.here, object: "soon"), postingStyle: .asap)
        }
        #expect(notes == ["loop", "here soon", "here idle"])
    }

    @Test func `coalescing by name and object keeps the position of the last`() {
        let notes = posted { queue, _ in
            for (name, object) in [(Self.here, 1), (Self.here, 2), (Self.there, 1), (Self.here, 1)] {
                queue.enqueue(Notification(name: name, object: object), postingStyle: .asap)
            }
        }
        #expect(notes == ["loop", "here 2", "there 1", "here 1"])
    }

    @Test func `coalescing can be by name only, by object only or off`() {
        func enqueueAll(_ mask: CompatibleNotificationQueue.NotificationCoalescing) -> [String] {
            posted { queue, _ in
                for (name, object) in [(Self.here, 1), (Self.here, 2), (Self.there, 1), (Self.here, 2)] {
                    queue.enqueue(
                        Notification(name: name, object: object), postingStyle: .asap, coalesceMask: mask,
                        forModes: nil)
                }
            }
        }
        #expect(enqueueAll(.onName) == ["loop", "there 1", "here 2"])
        #expect(enqueueAll(.onSender) == ["loop", "there 1", "here 2"])
        #expect(enqueueAll([]) == ["loop", "here 1", "here 2", "there 1", "here 2"])
    }

    @Test func `dequeued notifications are not posted`() {
        let notes = posted { queue, _ in
            queue.enqueue(Notification(name: Self.here, object: 1), postingStyle: .asap)
            queue.enqueue(Notification(name: Self.here, object: 2), postingStyle: .whenIdle)
            queue.enqueue(Notification(name: Self.there, object: 1), postingStyle: .asap)
            queue.dequeueNotifications(matching: Notification(name: Self.here, object: 7), coalesceMask: .onName)
            queue.dequeueNotifications(matching: Notification(name: Self.there, object: 1), coalesceMask: [])
        }
        #expect(notes == ["loop", "there 1"])
    }

    @Test func `a notification for another mode waits until the loop runs in that mode`() {
        let mode = RunLoop.Mode("a mode of our own")
        let notes = posted { queue, journal in
            queue.enqueue(
                Notification(name: Self.here), postingStyle: .asap, coalesceMask: [], forModes: [mode])
            queue.enqueue(Notification(name: Self.there), postingStyle: .asap)
            self.run(in: .default)
            journal.note("other mode")
            self.run(in: mode)
        }
        #expect(notes == ["there -", "other mode", "here -", "loop"])
    }

    @Test func `an observer may enqueue notifications for the next turn`() {
        let notes = posted { queue, journal in
            nonisolated(unsafe) let queue = queue
            let center = CompatibleNotificationCenter()
            let second = CompatibleNotificationQueue(notificationCenter: center)
            _ = center.addObserver(forName: nil, object: nil, queue: nil) { _ in
                queue.enqueue(Notification(name: Self.there), postingStyle: .asap)
            }
            second.enqueue(Notification(name: Self.here), postingStyle: .asap)
            self.run(in: .default)
            journal.note("ran")
        }
        #expect(notes == ["there -", "ran", "loop"])
    }

    @Test(arguments: [CompatibleNotificationQueue.PostingStyle.asap, .whenIdle])
    func `notifications dequeued by an observer are not posted`(style: CompatibleNotificationQueue.PostingStyle) {
        let notes = posted { _, journal in
            let center = CompatibleNotificationCenter()
            let queue = CompatibleNotificationQueue(notificationCenter: center)
            nonisolated(unsafe) let inside = queue
            _ = center.addObserver(forName: nil, object: nil, queue: nil) {
                journal.note("\($0.name.rawValue) \($0.object ?? "-")")
                guard $0.object as? Int == 1 else { return }
                inside.dequeueNotifications(matching: Notification(name: Self.there), coalesceMask: .onName)
                inside.enqueue(Notification(name: Self.here, object: 2), postingStyle: style)
            }
            for (name, object) in [(Self.here, 1), (Self.there, 1), (Self.here, 2), (Self.here, 3)] {
                queue.enqueue(Notification(name: name, object: object), postingStyle: style)
            }
            self.run(in: .default)
            center.center.removeAllObservations()
        }
        #expect(notes == ["here 1", "here 3", "here 2", "loop"])
    }

    @Test(arguments: [CompatibleNotificationQueue.PostingStyle.asap, .whenIdle])
    func `a run loop that an observer runs posts pending notifications in order`(
        style: CompatibleNotificationQueue.PostingStyle
    ) {
        let notes = posted { first, journal in
            nonisolated(unsafe) let first = first
            let center = CompatibleNotificationCenter()
            nonisolated(unsafe) let second = CompatibleNotificationQueue(notificationCenter: center)
            _ = center.addObserver(forName: nil, object: nil, queue: nil) {
                let number = $0.object as? Int ?? 0
                journal.note("\(number)")
                if number == 2 { second.enqueue(Notification(name: Self.here, object: 3), postingStyle: style) }
                guard number == 1 else { return }
                self.run(in: .default)
                journal.note("over")
            }
            RunLoop.current.perform {
                second.enqueue(Notification(name: Self.here, object: 1), postingStyle: style)
                second.enqueue(Notification(name: Self.here, object: 2), postingStyle: style)
                first.enqueue(Notification(name: Self.there), postingStyle: style)
            }
            self.run(in: .default)
            center.center.removeAllObservations()
        }
        #expect(notes.filter { $0 != "there -" } == ["1", "2", "3", "over", "loop"])
        let last = notes.lastIndex(of: "over") ?? 0
        #expect(notes.firstIndex(of: "there -") ?? notes.count < last)
    }

    @Test func `asap notifications are posted at the end of the current run loop callout`() {
        let notes = posted { queue, journal in
            nonisolated(unsafe) let queue = queue
            let timer = Timer(fire: Date(), interval: 0, repeats: false) { _ in
                queue.enqueue(Notification(name: Self.here), postingStyle: .asap)
                RunLoop.current.perform { journal.note("block") }
                journal.note("timer")
            }
            RunLoop.current.add(timer, forMode: .default)
        }
        #expect(notes == ["loop", "timer", "here -", "block"])
    }

    @Test(arguments: [CompatibleNotificationQueue.PostingStyle.asap, .whenIdle])
    func `a run loop about to sleep posts new notifications`(style: CompatibleNotificationQueue.PostingStyle) {
        let notes = posted { queue, _ in
            nonisolated(unsafe) let queue = queue
            // A run loop without other work runs this block and then sleeps.
            RunLoop.current.perform { queue.enqueue(Notification(name: Self.here), postingStyle: style) }
            while RunLoop.current.run(mode: .default, before: .distantFuture) {}
        }
        #expect(notes == ["here -", "loop"])
    }

    @Test(arguments: [CompatibleNotificationQueue.PostingStyle.asap, .whenIdle])
    func `a queue lives until all its notifications are posted`(style: CompatibleNotificationQueue.PostingStyle) {
        let notes = posted { _, journal in
            let center = CompatibleNotificationCenter()
            _ = center.addObserver(forName: nil, object: nil, queue: nil) { _ in journal.note("posted") }
            nonisolated(unsafe) weak var queue: CompatibleNotificationQueue?
            RunLoop.current.perform {
                let new = CompatibleNotificationQueue(notificationCenter: center)
                new.enqueue(Notification(name: Self.here), postingStyle: style)
                queue = new
            }
            self.run(in: .default)
            journal.note(queue == nil ? "gone" : "there")
        }
        #expect(notes == ["posted", "gone", "loop"])
    }

    @Test(arguments: [CompatibleNotificationQueue.PostingStyle.asap, .whenIdle])
    func `a payload may enqueue while it is released`(style: CompatibleNotificationQueue.PostingStyle) {
        let notes = posted { queue, _ in
            nonisolated(unsafe) let queue = queue
            func enqueue(_ number: Int) {
                let last = AtEnd { queue.enqueue(Notification(name: Self.there, object: number), postingStyle: style) }
                queue.enqueue(Notification(name: Self.here, userInfo: ["last": last]), postingStyle: style)
            }
            enqueue(1)
            enqueue(2)
            queue.dequeueNotifications(matching: Notification(name: Self.here), coalesceMask: .onName)
            enqueue(3)
        }
        #expect(notes == ["loop", "there 1", "there 2", "here -", "there 3"])
    }

    @Test func `comparing and hashing an object may enqueue`() {
        let notes = posted { queue, _ in
            nonisolated(unsafe) let queue = queue
            var numbers = (1...).makeIterator()
            let enqueueAnother = {
                let number = numbers.next() ?? 0
                queue.enqueue(
                    Notification(name: Self.there, object: "\(number)"), postingStyle: .asap, coalesceMask: .onName,
                    forModes: nil)
            }
            for _ in 1...2 {
                queue.enqueue(Notification(name: Self.here, object: Busy(enqueueAnother)), postingStyle: .asap)
            }
            #expect(numbers.next() ?? 0 > 3)
        }
        #expect(notes.filter { $0.hasPrefix("here") } == ["here busy"])
    }

    /// Runs a closure when it is released.
    private final class AtEnd {
        private let body: () -> Void

        init(_ body: @escaping () -> Void) {
            self.body = body
        }

        deinit {
            body()
        }
    }

    /// A value that runs a closure whenever it is compared or hashed. All values are equal.
    private struct Busy: Hashable, CustomStringConvertible {
        private let body: () -> Void

        init(_ body: @escaping () -> Void) {
            self.body = body
        }

        static func == (left: Busy, right: Busy) -> Bool {
            left.body()
            return true
        }

        func hash(into hasher: inout Hasher) {
            body()
        }

        var description: String { "busy" }
    }

    @Test func `each thread has its own default queue`() {
        let queues = LateValue<[ObjectIdentifier]>()
        let done = DispatchSemaphore(value: 0)
        // Retained, so that no other queue can be created at its address.
        let mine = CompatibleNotificationQueue.default
        Thread.detachNewThread {
            queues.value = [
                ObjectIdentifier(CompatibleNotificationQueue.default),
                ObjectIdentifier(CompatibleNotificationQueue.default),
            ]
            done.signal()
        }
        #expect(done.wait(timeout: .now() + 300) == .success)
        #expect(queues.value?.count == 2)
        #expect(queues.value?[0] == queues.value?[1])
        #expect(queues.value?.contains(ObjectIdentifier(mine)) == false)
        #expect(mine === CompatibleNotificationQueue.default)
    }
}
