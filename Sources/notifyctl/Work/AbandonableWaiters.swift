import NIOCore
import Synchronization

/// Tasks that wait for an event loop which may be blocked, until they are abandoned or the limit of their waits has
/// passed.
final class AbandonableWaiters: Sendable {
    private struct State {
        var isAbandoned = false
        /// The time after which a wait that begins now ends; nil for no limit.
        var limit: Duration?
        var last = 0
        var waiters: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())
    private let clock: any Clock<Duration>

    init(clock: any Clock<Duration> = ContinuousClock()) {
        self.clock = clock
    }

    /// Waits for the result of a future.
    ///
    /// - Returns: The result; nil if the wait is abandoned, or its limit has passed, before.
    /// - Throws: The error of the future.
    func wait<Value: Sendable>(for future: EventLoopFuture<Value>) async throws -> Value? {
        try await withCheckedThrowingContinuation { continuation in
            let (number, limit) = state.withLock { state -> (Int?, Duration?) in
                guard !state.isAbandoned else { return (nil, nil) }
                state.last += 1
                state.waiters[state.last] = { continuation.resume(returning: nil) }
                return (state.last, state.limit)
            }
            guard let number else { return continuation.resume(returning: nil) }
            if let limit { end([number], after: limit, of: clock) }
            future.whenComplete { result in
                guard self.remove(number) else { return }
                continuation.resume(with: result.map { $0 })
            }
        }
    }

    /// Ends each wait after this time, those that have begun after this time from now.
    func limitWaits(to limit: Duration) {
        let numbers = state.withLock { state in
            state.limit = limit
            return Array(state.waiters.keys)
        }
        end(numbers, after: limit, of: clock)
    }

    private func end(_ numbers: [Int], after limit: Duration, of clock: some Clock<Duration>) {
        // Now, because the task may begin much later.
        let deadline = clock.now.advanced(by: limit)
        Task {
            try? await clock.sleep(until: deadline, tolerance: nil)
            let waiters = state.withLock { state in numbers.compactMap { state.waiters.removeValue(forKey: $0) } }
            for waiter in waiters { waiter() }
        }
    }

    private func remove(_ number: Int) -> Bool {
        state.withLock { $0.waiters.removeValue(forKey: number) != nil }
    }

    /// Ends all waits, also later ones.
    func abandon() {
        let waiters = state.withLock { state in
            defer { state.waiters = [:] }
            state.isAbandoned = true
            return state.waiters.values
        }
        for waiter in waiters { waiter() }
    }
}
