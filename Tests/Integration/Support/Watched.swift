import Dispatch
import Synchronization

/// A wait that timed out or was cancelled, with the state at that time.
struct TimedOut: Error, CustomStringConvertible {
    var description: String
}

/// State that is changed by other threads, and can be awaited without polling.
final class Watched<State: Sendable>: Sendable {
    private struct Content {
        var state: State
        var nextID = 0
        var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
    }

    private let content: Mutex<Content>

    init(_ state: State) {
        content = Mutex(Content(state: state))
    }

    var current: State { content.withLock { $0.state } }

    /// Changes the state and wakes all waiters, which check the state again.
    @discardableResult
    func update<Result: Sendable>(_ change: (inout sending State) -> Result) -> Result {
        let (result, waiters) = content.withLock { content in
            let result = change(&content.state)
            defer { content.waiters.removeAll() }
            return (result, Array(content.waiters.values))
        }
        for waiter in waiters { waiter.resume(returning: true) }
        return result
    }

    /// Waits until `find` returns a value, and returns the value. Throws `TimedOut` after `limit`, or if the task is
    /// cancelled.
    func wait<Found: Sendable>(
        _ what: String, within limit: Duration = .seconds(300), for find: (State) -> Found?
    ) async throws -> Found {
        let deadline = ContinuousClock.now + limit
        while true {
            if let found = content.withLock({ find($0.state) }) { return found }
            guard await changed(before: deadline, unless: { find($0) != nil }) else {
                throw TimedOut(
                    description: "timed out after \(limit) or cancelled, waiting for \(what); the state is \(current)")
            }
        }
    }

    /// Suspends until the next change, unless `isThere` is true already. Returns false if the deadline passes or the
    /// task is cancelled first.
    private func changed(before deadline: ContinuousClock.Instant, unless isThere: (State) -> Bool) async -> Bool {
        let left = deadline - ContinuousClock.now
        guard left > .zero else { return false }
        let id = content.withLock { content in
            content.nextID += 1
            return content.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = content.withLock { content in
                    if isThere(content.state) || Task.isCancelled { return true }
                    content.waiters[id] = continuation
                    return false
                }
                if isDone { return continuation.resume(returning: !Task.isCancelled) }
                DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(left / .nanoseconds(1)))) {
                    [weak self] in self?.timeOut(id)
                }
            }
        } onCancel: {
            timeOut(id)
        }
    }

    private func timeOut(_ id: Int) {
        content.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: false)
    }
}
