import DequeModule
import Synchronization

/// The notifications that wait for an observer that runs in tasks, on an actor or an executor. The tasks exist only
/// while notifications wait or are delivered.
final class ObserverMailbox: ObserverQueue, PostWaiter {
    /// A function that delivers one notification. It starts in the caller's isolation, without a hop.
    typealias Handler = nonisolated(nonsending) @Sendable (Turn) async throws -> Void

    /// The mailbox of the observer that the current task is calling.
    @TaskLocal static var current: ObserverMailbox?

    /// The number of calls after which the task yields.
    private static let callsPerYield = 64

    private struct State {
        var mailbox: Mailbox<LocalNotification>
        /// The number of tasks that take from the mailbox.
        var tasks = 0
    }

    private let state: Lock<State>
    private let delivery: ObserverDelivery
    private let place: SourcePlace
    private let isOnce: Bool
    private let isEnded = Atomic(false)
    private weak let center: LocalCenter?
    private let registration = Atomic<UInt64>(0)
    private let slot = Atomic<Int32>(-1)

    init(_ delivery: ObserverDelivery, isOnce: Bool, place: SourcePlace, center: LocalCenter) {
        state = Lock(State(mailbox: Mailbox(delivery.buffering, acceptsOne: isOnce)))
        self.delivery = delivery
        self.isOnce = isOnce
        self.place = place
        self.center = center
    }

    func accepts(_ notification: LocalNotification) -> Bool { delivery.accepts?(notification) ?? true }

    func registered(_ registration: UInt64, slot: Int32) {
        self.registration.store(registration, ordering: .relaxed)
        self.slot.store(slot, ordering: .releasing)
    }

    var droppedCount: Int { state.withLock { $0.mailbox.droppedCount } }
}

// MARK: - Adding

extension ObserverMailbox {
    func put(_ notification: LocalNotification) {
        put(notification) { $0.put(notification) }
    }

    func put(_ notification: LocalNotification, for post: WaitingPost) {
        put(notification) { $0.put(notification, for: post) { post.mayWait(in: self) } }
    }

    private func put(
        _ notification: LocalNotification,
        _ body: (inout Mailbox<LocalNotification>) -> Mailbox<LocalNotification>.Put
    ) {
        guard accepts(notification) else { return }
        let (put, needsTask) = state.withLock { state in
            let put = body(&state.mailbox)
            let needsTask = state.tasks < delivery.executor.concurrency && !state.mailbox.isEmpty
            if needsTask { state.tasks += 1 }
            return (put, needsTask)
        }
        if needsTask { startTask() }
        // Replaced elements are released outside the lock.
        withExtendedLifetime(put) {}
    }

    func withdraw(_ post: WaitingPost) {
        let withdrawn = state.withLock { $0.mailbox.withdraw(post) }
        for poster in withdrawn { poster.post.finished(in: self) }
    }

    func close() {
        isEnded.store(true, ordering: .releasing)
        let remaining = state.withLock { $0.mailbox.close() }
        for poster in remaining.posters { poster.post.finished(in: self) }
    }
}

// MARK: - Delivering

extension ObserverMailbox {
    /// Starts a task that delivers the buffered notifications and retains the center while it runs. The task is
    /// detached: it serves many posters, so it must not inherit the task-local values and the priority of a single
    /// poster.
    private func startTask() {
        // Never nil during a post.
        guard let center else { return }
        if delivery.isOnMain {
            // The task starts on the main actor, so that the observers of this actor start in the order of the posts.
            let work: @MainActor @Sendable () async -> Void = { await self.deliverAll(in: center) }
            if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
                MainQueue.startTask(work)
            } else {
                Task.detached(operation: work)
            }
        } else {
            Task.detached(executorPreference: delivery.executor.executor) { await self.deliverAll(in: center) }
        }
    }

    private func deliverAll(in center: LocalCenter, isolation: isolated (any Actor)? = #isolation) async {
        await Self.$current.withValue(self) {
            // A closure has the isolation of its function only if it captures the isolated parameter.
            _ = isolation
            var calls = 0
            while let notification = take() {
                do {
                    try await delivery.handler(Turn(notification: notification, mailbox: self, center: center))
                } catch {
                    center.report(error, at: place, for: notification)
                }
                calls += 1
                if calls % Self.callsPerYield == 0 { await Task.yield() }
            }
        }
    }

    private func take() -> LocalNotification? {
        let taken = state.withLock { state in
            let taken = state.mailbox.take()
            if taken == nil { state.tasks -= 1 }
            return taken
        }
        taken?.admitted?.finished(in: self)
        return taken?.element
    }

    /// A notification taken from the mailbox, about to be delivered.
    struct Turn: Sendable {
        let notification: LocalNotification
        fileprivate let mailbox: ObserverMailbox
        fileprivate let center: LocalCenter

        /// Checks that the observation has not ended. With `.once`, ends the observation. Must be called in the
        /// observer's isolation, so that no call begins after code of this isolation has ended the observation.
        ///
        /// - Returns: Whether the call may begin.
        func tryBegin() -> Bool {
            guard mailbox.isOnce else { return !mailbox.isEnded.load(ordering: .acquiring) }
            let isFirst = !mailbox.isEnded.exchange(true, ordering: .acquiringAndReleasing)
            if isFirst { endObservation() }
            return isFirst
        }

        /// Ends the observation.
        func endObservation() {
            let slot = mailbox.slot.load(ordering: .acquiring)
            center.end(mailbox.registration.load(ordering: .relaxed), slot: slot)
        }
    }
}
