import NotifyCenter
import ServiceLifecycle

/// The place where the answer to one request is put down and picked up.
///
/// The request is sent with its slot before anybody waits, so an answer, or a cancellation, that comes early is kept. The
/// first answer counts; later ones are ignored.
final class ReplySlot<Value: Sendable>: Sendable {
    typealias Answer = Result<Value, NotifyError>

    private enum State {
        case open
        // Checked continuations cost an allocation per post. This one is resumed exactly once: it is only reachable in
        // this state, and who takes it out puts `answered` in its place under the lock.
        case waiting(UnsafeContinuation<Answer, Never>)
        case answered(Answer)
    }

    private let state = Lock<State>(.open)

    /// Puts the answer down. Answers whether it is the first one.
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

    /// Waits for the answer, also in a task that is cancelled. One task may wait.
    nonisolated(nonsending) func wait() async throws(NotifyError) -> Value {
        try await pickUp().get()
    }

    /// Waits for the answer. `onCancel` must see to it that one comes.
    ///
    /// The caller's actor is not left meanwhile: going and coming back would cost more than the rest of a post.
    func wait(
        isolation: isolated (any Actor)? = #isolation, onCancel: @escaping @Sendable () -> Void
    ) async throws(NotifyError) -> Value {
        if let early { return try early.get() }
        let answer = await withTaskCancellationHandler {
            // Naming the actor keeps the closure on it.
            _ = isolation
            return await pickUp()
        } onCancel: {
            onCancel()
        }
        return try answer.get()
    }

    /// Waits for the answer as ``wait(isolation:onCancel:)`` does. `onGracefulShutdown` is called, maybe at once, when the
    /// task's service is shut down, and need not see to it that an answer comes.
    func wait(
        isolation: isolated (any Actor)? = #isolation, onCancel: @escaping @Sendable () -> Void,
        onGracefulShutdown: @escaping @Sendable () -> Void
    ) async throws(NotifyError) -> Value {
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

    /// The answer, if it is there already.
    private var early: Answer? {
        state.withLock { state in
            if case .answered(let answer) = state { answer } else { nil }
        }
    }

    private nonisolated(nonsending) func pickUp() async -> Answer {
        defer { state.repeatOrderForSanitizer() }
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
