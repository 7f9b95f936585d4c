import DequeModule
import NotifyCenter

/// The outcomes of a pipeline's posts, reordered into the order of posting.
///
/// Has one producer and one consumer. At most `capacity` posts may be pending or have an outcome that was not consumed
/// yet.
final class PipelineBuffer: Sendable {
    typealias Outcome = Result<NotifyClient.Receipt, NotifyError>

    private struct State {
        /// The outcomes of the posts from index `taken` on; nil for a post whose outcome is unknown.
        var outcomes: Deque<Outcome?> = []
        /// The number of outcomes that the consumer has taken.
        var taken: UInt64 = 0
        /// The number of known outcomes before the first unknown one.
        var ready = 0
        var isFinished = false
        var producer: ReplySlot<Int>?
        var consumer: ReplySlot<[Outcome]>?

        var posted: UInt64 { taken + UInt64(outcomes.count) }
    }

    let capacity: Int
    private let state = Lock(State())

    init(capacity: Int) {
        self.capacity = capacity
    }

    // MARK: - The producer

    /// Waits for room and reserves places for at most `count` posts.
    ///
    /// - Returns: The index of the first reserved post, and the number of reserved posts.
    nonisolated(nonsending) func reserve(_ count: Int) async throws(NotifyError) -> (first: UInt64, count: Int) {
        while true {
            let slot = ReplySlot<Int>()
            let reserved = try state.withLock { state throws(NotifyError) -> (first: UInt64, count: Int)? in
                guard !state.isFinished else {
                    throw NotifyError(.invalidArgument, "the pipeline is finished; create a new one")
                }
                let room = capacity - state.outcomes.count
                guard room > 0 else {
                    state.producer = slot
                    return nil
                }
                let first = state.posted
                let count = min(room, count)
                for _ in 0..<count { state.outcomes.append(nil) }
                return (first, count)
            }
            if let reserved { return reserved }
            _ = try await slot.wait { slot.answer(.failure(.cancelled)) }
        }
    }

    /// Accepts no further posts. The outcomes end with that of the last post.
    func finish() {
        let (producer, consumer, batch) = state.withLock { state in
            state.isFinished = true
            defer { state.producer = nil }
            guard let consumer = state.consumer, let batch = Self.takeReady(&state) else {
                return (state.producer, nil as ReplySlot<[Outcome]>?, [] as [Outcome])
            }
            state.consumer = nil
            return (state.producer, consumer, batch)
        }
        producer?.answer(.success(0))
        consumer?.answer(.success(batch))
    }

    // MARK: - The client

    /// Records the outcomes of some posts of this pipeline.
    func fill(_ outcomes: ArraySlice<(waiter: PostWaiter, outcome: Outcome)>) {
        let (producer, consumer, batch) = state.withLock { state in
            for (waiter, outcome) in outcomes {
                guard case .pipeline(_, let index) = waiter else { continue }
                state.outcomes[Int(index - state.taken)] = outcome
            }
            while state.ready < state.outcomes.count, state.outcomes[state.ready] != nil { state.ready += 1 }
            guard let consumer = state.consumer, let batch = Self.takeReady(&state) else {
                return (nil as ReplySlot<Int>?, nil as ReplySlot<[Outcome]>?, [] as [Outcome])
            }
            state.consumer = nil
            return (takeProducer(&state), consumer, batch)
        }
        consumer?.answer(.success(batch))
        producer?.answer(.success(0))
    }

    // MARK: - The consumer

    /// Waits for the next outcomes.
    ///
    /// - Returns: All outcomes before the first unknown one; empty at the end.
    nonisolated(nonsending) func next() async throws(NotifyError) -> [Outcome] {
        let slot = ReplySlot<[Outcome]>()
        let (batch, producer) = state.withLock { state in
            guard let batch = Self.takeReady(&state) else {
                state.consumer = slot
                return (nil as [Outcome]?, nil as ReplySlot<Int>?)
            }
            return (batch, takeProducer(&state))
        }
        producer?.answer(.success(0))
        if let batch { return batch }
        return try await slot.wait { self.cancelNext(slot) }
    }

    /// Cancels the waiting consumer, unless a batch is already being passed to it; that batch must not be lost.
    private func cancelNext(_ slot: ReplySlot<[Outcome]>) {
        let wasWaiting = state.withLock { state in
            guard state.consumer === slot else { return false }
            state.consumer = nil
            return true
        }
        if wasWaiting { slot.answer(.failure(.cancelled)) }
    }

    /// Takes the waiting producer if at least half of the capacity is free. This limit reduces the number of wake-ups.
    private func takeProducer(_ state: inout State) -> ReplySlot<Int>? {
        guard capacity - state.outcomes.count >= (capacity + 1) / 2 else { return nil }
        defer { state.producer = nil }
        return state.producer
    }

    /// Takes all outcomes before the first unknown one; nil if the consumer has to wait, empty at the end.
    private static func takeReady(_ state: inout State) -> [Outcome]? {
        guard state.ready > 0 else { return state.isFinished && state.outcomes.isEmpty ? [] : nil }
        let batch = state.outcomes.prefix(state.ready).compactMap(\.self)
        state.outcomes.removeFirst(state.ready)
        state.taken += UInt64(state.ready)
        state.ready = 0
        return batch
    }
}
