import NIOCore
import Synchronization

/// Tasks that wait for the results of an event loop. Because the loop may be blocked, the waits can be abandoned or
/// limited.
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
    /// - Returns: The result; nil if the wait is abandoned, or if its limit passes first.
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

    /// Limits each wait to this time. For current waits, the time begins now.
    func limitWaits(to limit: Duration) {
        let numbers = state.withLock { state in
            state.limit = limit
            return Array(state.waiters.keys)
        }
        end(numbers, after: limit, of: clock)
    }

    private func end(_ numbers: [Int], after limit: Duration, of clock: some Clock<Duration>) {
        // The deadline is computed here, because the task may begin much later.
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

    /// Ends the current waits, and all later ones.
    func abandon() {
        let waiters = state.withLock { state in
            defer { state.waiters = [:] }
            state.isAbandoned = true
            return state.waiters.values
        }
        for waiter in waiters { waiter() }
    }
}
