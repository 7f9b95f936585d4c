@_spi(Package) import NotifyCenter

/// A clock that a test advances.
package final class ManualClock: Clock {
    package struct Instant: InstantProtocol {
        package var offset: Duration

        package init(offset: Duration) { self.offset = offset }

        package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
        package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        package func duration(to other: Instant) -> Duration { other.offset - offset }
    }

    private struct Sleeper {
        let deadline: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Duration.zero
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var lastID = 0
        /// Whether the clock advances to each deadline as soon as a task sleeps.
        var runsFreely = false
        var watchers: [(deadline: Duration, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Lock(State())

    package init() {}

    package let minimumResolution = Swift.Duration.zero

    package var now: Instant { Instant(offset: state.withLock { $0.now }) }

    /// The number of sleeping tasks.
    package var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Advances to a time, and wakes the tasks whose deadline has been reached.
    package func advance(to time: Duration) {
        let woken = state.withLock { state in
            state.now = max(state.now, time)
            let woken = state.sleepers.filter { $0.value.deadline <= state.now }
            for id in woken.keys { state.sleepers[id] = nil }
            return woken.values.sorted { $0.deadline < $1.deadline }.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Advances past the deadlines of all sleeping tasks. From then on, the clock advances to the deadline of a task as
    /// soon as the task sleeps.
    package func runFreely() {
        let last = state.withLock { state in
            state.runsFreely = true
            return state.sleepers.values.map(\.deadline).max() ?? state.now
        }
        advance(to: last)
    }

    /// Waits for a task to sleep with this deadline.
    package func waitForSleeper(until deadline: Duration) async {
        await withCheckedContinuation { continuation in
            let isSleeping = state.withLock { state in
                if state.sleepers.values.contains(where: { $0.deadline == deadline }) { return true }
                state.watchers.append((deadline, continuation))
                return false
            }
            if isSleeping { continuation.resume() }
        }
    }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { add(Sleeper(deadline: deadline.offset, continuation: $0), id) }
        } onCancel: {
            let sleeper = state.withLock { state in
                state.cancelled.insert(id)
                return state.sleepers.removeValue(forKey: id)
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    private func add(_ sleeper: Sleeper, _ id: Int) {
        let (isCancelled, isOver, watchers) = state.withLock { state in
            let isCancelled = state.cancelled.remove(id) != nil
            if state.runsFreely, !isCancelled { state.now = max(state.now, sleeper.deadline) }
            let isOver = sleeper.deadline <= state.now
            if isCancelled || isOver { return (isCancelled, isOver, [CheckedContinuation<Void, Never>]()) }
            state.sleepers[id] = sleeper
            let watchers = state.watchers.filter { $0.deadline == sleeper.deadline }.map(\.continuation)
            state.watchers.removeAll { $0.deadline == sleeper.deadline }
            return (false, false, watchers)
        }
        if isCancelled {
            sleeper.continuation.resume(throwing: CancellationError())
        } else if isOver {
            sleeper.continuation.resume()
        }
        for watcher in watchers { watcher.resume() }
    }
}
