import DequeModule

/// The buffer of one reader of a sequence.
final class SequenceMailbox<Element: Sendable>: PostWaiter {
    private struct State {
        var mailbox: Mailbox<Element>
        /// The reads that wait for an element. Empty while there are elements.
        var readers: Deque<CheckedContinuation<Element?, Never>> = []
        /// The hash value of the task that read last; nil once the reader has stopped. After that task has ended, a new
        /// task may have the same value.
        var reader: Int?
        /// Whether `next` waits for an element if none is buffered.
        var waits = true
    }

    private enum Step {
        case end
        case element(Mailbox<Element>.Taken)
        case suspended
    }

    private let state: Lock<State>

    init(_ buffering: Buffering, isOnce: Bool) {
        state = Lock(State(mailbox: Mailbox(buffering, acceptsOne: isOnce)))
    }

    var droppedCount: Int { state.withLock { $0.mailbox.droppedCount } }
}

// MARK: - Adding

extension SequenceMailbox {
    func put(_ element: Element) {
        put { $0.mailbox.put(element) }
    }

    func put(_ element: Element, for post: WaitingPost) {
        // A post by the reader must not wait, because the reader takes no elements during the wait.
        let poster = Self.currentTask
        put { state in
            let isReader = poster != nil && poster == state.reader
            return state.mailbox.put(element, for: post) { !isReader && post.mayWait(in: self) }
        }
    }

    private func put(_ body: (inout State) -> Mailbox<Element>.Put) {
        let (put, reader, taken) = state.withLock { state in
            let put = body(&state)
            guard !state.readers.isEmpty, let taken = state.mailbox.take() else {
                return (put, CheckedContinuation<Element?, Never>?.none, Mailbox<Element>.Taken?.none)
            }
            return (put, state.readers.popFirst(), taken)
        }
        if let reader { reader.resume(returning: taken?.element) }
        // Replaced elements are released outside the lock.
        withExtendedLifetime(put) {}
    }

    func withdraw(_ post: WaitingPost) {
        let withdrawn = state.withLock { $0.mailbox.withdraw(post) }
        for poster in withdrawn { poster.post.finished(in: self) }
    }

    func close() {
        let (remaining, readers) = state.withLock { state in
            defer { state.readers = [] }
            return (state.mailbox.close(), state.readers)
        }
        for reader in readers { reader.resume(returning: nil) }
        for poster in remaining.posters { poster.post.finished(in: self) }
    }
}

// MARK: - Reading

extension SequenceMailbox {
    /// Waits for the next element. Cancellation of the task does not end the wait: the caller's cancellation handler
    /// must call ``close()``.
    ///
    /// - Returns: The element, or nil after the end.
    func next(isolation: isolated (any Actor)?) async -> Element? {
        let reader = Self.currentTask
        let step = self.step(reader)
        if case .suspended = step {
            defer { state.repeatOrder() }
            return await withCheckedContinuation { continuation in
                let step = self.step(reader, continuation)
                if case .suspended = step { return }
                continuation.resume(returning: finish(step))
            }
        }
        return finish(step)
    }

    /// Takes an element. If none is buffered and the mailbox is open, stores the continuation (unless nil) for the next
    /// element.
    private func step(_ reader: Int?, _ continuation: CheckedContinuation<Element?, Never>? = nil) -> Step {
        state.withLock { state in
            state.reader = reader
            if let taken = state.mailbox.take() { return .element(taken) }
            if state.mailbox.isClosed || !state.waits { return .end }
            if let continuation { state.readers.append(continuation) }
            return .suspended
        }
    }

    /// Ends the waits for elements. Elements that are buffered can still be read; then `next` returns nil.
    func endWaits() {
        let readers = state.withLock { state in
            state.waits = false
            defer { state.readers = [] }
            return state.readers
        }
        for reader in readers { reader.resume(returning: nil) }
    }

    private func finish(_ step: Step) -> Element? {
        guard case .element(let taken) = step else { return nil }
        taken.admitted?.finished(in: self)
        return taken.element
    }

    /// Called when the reader has stopped reading.
    func readerStopped() {
        state.withLock { $0.reader = nil }
    }

    private static var currentTask: Int? { withUnsafeCurrentTask { $0?.hashValue } }
}
