import NIOCore
import Synchronization

/// Tasks that wait for an event loop which may be blocked, until they are abandoned.
final class AbandonableWaiters: Sendable {
    private struct State {
        var isAbandoned = false
        var last = 0
        var waiters: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())

    /// Waits for the result of a future.
    ///
    /// - Returns: The result; nil if the waiters are abandoned before.
    /// - Throws: The error of the future.
    func wait<Value: Sendable>(for future: EventLoopFuture<Value>) async throws -> Value? {
        try await withCheckedThrowingContinuation { continuation in
            let number = state.withLock { state -> Int? in
                guard !state.isAbandoned else { return nil }
                state.last += 1
                state.waiters[state.last] = { continuation.resume(returning: nil) }
                return state.last
            }
            guard let number else { return continuation.resume(returning: nil) }
            future.whenComplete { result in
                guard self.remove(number) else { return }
                continuation.resume(with: result.map { $0 })
            }
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
