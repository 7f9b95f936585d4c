@_spi(Package) import NotifyCenter
import ServiceLifecycle
import Synchronization

/// The slot of a request, without the type of its answer.
protocol RequestSlot: AnyObject, Sendable {
    var timeout: Duration? { get }
    var isAnswered: Bool { get }
    /// Whether the service (ServiceLifecycle) in which the caller runs is being shut down. The request then does not
    /// wait for a connection.
    var isShutDown: Bool { get }
    func fail(_ error: NotifyError)
}

/// A one-shot promise for the answer to one request.
///
/// The request is sent before the task waits. An answer or a cancellation that arrives before the task waits is kept.
/// Only the first answer counts, and later ones are ignored.
final class ReplySlot<Value: Sendable>: RequestSlot {
    typealias Answer = Result<Value, NotifyError>

    private enum State {
        case open
        // A checked continuation would cost an allocation per post. This unsafe continuation is resumed exactly once:
        // it is only reachable in this state, and the code that takes it sets the state to `answered` under the same
        // lock.
        case waiting(UnsafeContinuation<Answer, Never>)
        case answered(Answer)
    }

    private let state = Lock<State>(.open)
    private let shutDown = Atomic(false)
    /// The time limit of the request; nil for the client's time limit.
    let timeout: Duration?

    init(timeout: Duration? = nil) {
        self.timeout = timeout
    }

    var isAnswered: Bool { early != nil }

    var isShutDown: Bool { shutDown.load(ordering: .acquiring) }

    func endWait() { shutDown.store(true, ordering: .releasing) }

    func fail(_ error: NotifyError) {
        answer(.failure(error))
    }

    /// Sets the answer and resumes the waiting task, if any.
    ///
    /// - Returns: Whether it is the first answer.
    @discardableResult
    func answer(_ answer: Answer) -> Bool {
        let (isFirst, waiter) = state.withLock { state in
            switch state {
            case .open:
                state = .answered(answer)
                return (true, nil as UnsafeContinuation<Answer, Never>?)
            case .waiting(let continuation):
                state = .answered(answer)
                return (true, continuation)
            case .answered:
                return (false, nil)
            }
        }
        waiter?.resume(returning: answer)
        return isFirst
    }

    /// Waits for the answer, even in a cancelled task. Only one task may wait.
    nonisolated(nonsending) func wait() async throws(NotifyError) -> Value {
        try await pickUp().get()
    }

    /// Waits for the answer. `onCancel` must ensure that the slot is answered.
    ///
    /// Stays on the caller's actor: hopping to another executor and back would cost more than the rest of a post.
    func wait(
        isolation: isolated (any Actor)? = #isolation, onCancel: @escaping @Sendable () -> Void
    ) async throws(NotifyError) -> Value {
        if let early { return try early.get() }
        let answer = await withTaskCancellationHandler {
            // Without this use of the actor, the closure would not run on the actor.
            _ = isolation
            return await pickUp()
        } onCancel: {
            onCancel()
        }
        return try answer.get()
    }

    /// Waits for the answer as ``wait(isolation:onCancel:)`` does. `onGracefulShutdown` is called when the service
    /// (ServiceLifecycle) in which the caller runs is being shut down, or at once if the shutdown has already begun.
    /// The closure need not answer the slot.
    func wait(
        isolation: isolated (any Actor)? = #isolation, onCancel: @escaping @Sendable () -> Void,
        onGracefulShutdown: @escaping @Sendable () -> Void
    ) async throws(NotifyError) -> Value {
        if let early { return try early.get() }
        let answer = await withGracefulShutdownHandler {
            _ = isolation
            return await withTaskCancellationHandler {
                _ = isolation
                return await pickUp()
            } onCancel: {
                onCancel()
            }
        } onGracefulShutdown: {
            onGracefulShutdown()
        }
        return try answer.get()
    }

    /// The answer if it has already arrived, otherwise nil.
    private var early: Answer? {
        state.withLock { state in
            if case .answered(let answer) = state { answer } else { nil }
        }
    }

    private nonisolated(nonsending) func pickUp() async -> Answer {
        // The thread sanitizer does not detect by itself that the task continues after an early resumption.
        defer { state.repeatOrder() }
        return await withUnsafeContinuation { continuation in
            let early: Answer? = state.withLock { state in
                switch state {
                case .open:
                    state = .waiting(continuation)
                    return nil
                case .waiting:
                    preconditionFailure("two tasks wait for the answer to one request")
                case .answered(let answer):
                    return answer
                }
            }
            if let early { continuation.resume(returning: early) }
        }
    }
}
