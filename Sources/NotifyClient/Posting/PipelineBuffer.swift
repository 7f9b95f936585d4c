import DequeModule
@_spi(Package) import NotifyCenter
import Synchronization

/// The posts of a pipeline on their way to the client, and their outcomes, in the order of posting.
///
/// The buffer has one producer and one consumer. At most `capacity` posts may be pending or have an outcome that the
/// consumer has not taken. A consumer that reads outcomes one by one takes up to an eighth of `capacity` at once.
final class PipelineBuffer: Sendable {
    typealias Outcome = Result<NotificationClient.Receipt, NotifyError>

    fileprivate struct State {
        /// The outcomes of the posts from index `taken` on; nil for a post whose outcome is unknown.
        var outcomes: Deque<Outcome?> = []
        /// The number of outcomes that the consumer has taken.
        var taken: UInt64 = 0
        /// The number of known outcomes before the first unknown one.
        var ready = 0
        var isFinished = false
        /// The posts that the client has not taken yet.
        var staged: [StagedPost] = []
        /// The size of the staged payloads in bytes.
        var stagedBytes = 0
        var producer: ReplySlot<Int>?
        var consumer: ReplySlot<Bool>?

        var posted: UInt64 { taken + UInt64(outcomes.count) }
    }

    /// A post with its place among all posts of the pipeline.
    struct StagedPost {
        var index: UInt64
        var message: NotificationClient.OutgoingMessage
    }

    /// What the producer has to do after it has staged a post.
    enum StagingResult {
        /// Announce the pipeline to the client, because the post is the only staged one.
        case first
        case added
        /// Make the client take the staged posts.
        case full
    }

    /// The client takes the staged posts at the latest when there are this many posts, or payloads of this size. With
    /// fewer, the lock of the client, for which the event loop competes, would be taken more often than needed.
    private static let stagedPosts = 64
    private static let stagedBytes = 16 << 10

    /// The limit of pending posts and of outcomes that the consumer has not taken.
    private let capacity: Int
    /// The number of outcomes that the consumer takes at once when it reads them one by one.
    private let outcomesPerTake: Int
    /// The time limit of each post; nil for the client's time limit.
    let timeout: Duration?
    private let state = Lock(State())
    /// The outcomes that the consumer has taken and not read, last one first.
    private let unread = Lock<[Outcome]>([])
    private let shutDown = Atomic(false)
    /// Called when the service of the producer or of the consumer is shut down.
    private let onShutdown: @Sendable () -> Void

    init(capacity: Int, timeout: Duration? = nil, onShutdown: @escaping @Sendable () -> Void = {}) {
        self.capacity = capacity
        outcomesPerTake = max(1, capacity / 8)
        self.timeout = timeout
        self.onShutdown = onShutdown
    }

    /// Whether no post of this pipeline may wait for a connection or for room any more.
    var isShutDown: Bool { shutDown.load(ordering: .acquiring) }

    private func serviceShutDown() {
        shutDown.store(true, ordering: .releasing)
        let (producer, (consumer, answer)) = state.withLock { ($0.producer.take(), takeConsumer(&$0)) }
        // The producer then checks again, and fails unless there is room.
        producer?.answer(.success(0))
        consumer?.answer(.success(answer))
        onShutdown()
    }

    // MARK: - The producer

    /// Waits for room and stages a post.
    ///
    /// - Throws: As ``reserve(_:)``.
    nonisolated(nonsending) func stage(
        _ message: NotificationClient.OutgoingMessage
    ) async throws(NotifyError) -> StagingResult {
        while true {
            let result = try withRoom { state, _ in
                state.staged.append(StagedPost(index: state.posted, message: message))
                state.outcomes.append(nil)
                state.stagedBytes += message.payload.count
                if state.staged.count == 1 { return StagingResult.first }
                return state.staged.count >= Self.stagedPosts || state.stagedBytes >= Self.stagedBytes ? .full : .added
            }
            if let result { return result }
            try await waitForRoom()
        }
    }

    /// Waits for room and reserves places for at most `count` posts. A graceful shutdown ends the wait with an error.
    ///
    /// - Returns: The index of the first reserved post, and the number of reserved posts.
    nonisolated(nonsending) func reserve(_ count: Int) async throws(NotifyError) -> (first: UInt64, count: Int) {
        while true {
            let reserved = try withRoom { state, room in
                let first = state.posted
                let count = min(room, count)
                for _ in 0..<count { state.outcomes.append(nil) }
                return (first, count)
            }
            if let reserved { return reserved }
            try await waitForRoom()
        }
    }

    /// Calls `body` with the number of free places.
    ///
    /// - Returns: The result of `body`; nil if there is no room.
    private func withRoom<Result: Sendable>(
        _ body: (inout State, _ room: Int) -> Result
    ) throws(NotifyError) -> Result? {
        if Fork.isChild { throw .forked }
        return try state.withLock { state throws(NotifyError) in
            guard !state.isFinished else {
                throw NotifyError(.invalidArgument, "the pipeline is finished; create a new one")
            }
            let room = capacity - state.outcomes.count
            return room > 0 ? body(&state, room) : nil
        }
    }

    /// Waits until there may be room.
    private nonisolated(nonsending) func waitForRoom() async throws(NotifyError) {
        let slot = try state.withLock { state throws(NotifyError) -> ReplySlot<Int>? in
            guard !state.isFinished, state.outcomes.count >= capacity else { return nil }
            if isShutDown { throw .shutDownWithoutRoom }
            let slot = ReplySlot<Int>()
            state.producer = slot
            return slot
        }
        guard let slot else { return }
        _ = try await slot.wait {
            slot.answer(.failure(.cancelled))
        } onGracefulShutdown: {
            self.serviceShutDown()
        }
    }

    /// Ends the pipeline: no further posts are accepted, and the outcomes end with that of the last post.
    func finish() {
        if Fork.isChild { return }
        let (producer, (consumer, answer)) = state.withLock { state in
            state.isFinished = true
            return (state.producer.take(), takeConsumer(&state))
        }
        producer?.answer(.success(0))
        consumer?.answer(.success(answer))
    }

    // MARK: - The client

    /// Takes the staged posts.
    func takeStaged() -> [StagedPost] {
        state.withLock { state in
            state.stagedBytes = 0
            defer { state.staged.removeAll() }
            return state.staged
        }
    }

    /// Records the outcomes of some posts of this pipeline.
    func fill(_ outcomes: ArraySlice<(waiter: PostWaiter, outcome: Outcome)>) {
        let (consumer, answer) = state.withLock { state in
            for (waiter, outcome) in outcomes {
                guard case .pipeline(_, let index) = waiter else { continue }
                state.outcomes[Int(index - state.taken)] = outcome
            }
            while state.ready < state.outcomes.count, state.outcomes[state.ready] != nil { state.ready += 1 }
            return takeConsumer(&state)
        }
        consumer?.answer(.success(answer))
    }

    /// Whether the outcomes of all posts before an index are known.
    func isKnown(before end: UInt64) -> Bool {
        state.withLock { $0.taken + UInt64($0.ready) >= end }
    }

    // MARK: - The consumer

    /// Waits for the next outcomes.
    ///
    /// - Returns: All outcomes before the first unknown one; empty at the end.
    nonisolated(nonsending) func next() async throws(NotifyError) -> [Outcome] {
        let rest = unread.withLock { unread in
            defer { unread = [] }
            return unread
        }
        guard rest.isEmpty else { return rest.reversed() }
        return try await take { $0.takeReady(atMost: .max) } ?? []
    }

    /// Waits for the next outcome; nil at the end.
    nonisolated(nonsending) func nextOutcome() async throws(NotifyError) -> Outcome? {
        if Fork.isChild { throw .forked }
        if let outcome = unread.withLock({ $0.popLast() }) { return outcome }
        guard let taken = try await take({ $0.takeReady(atMost: outcomesPerTake) }) else { return nil }
        return unread.withLock { unread in
            unread = taken.reversed()
            return unread.popLast()
        }
    }

    /// Waits until `body` has taken outcomes; nil at the end.
    private nonisolated(nonsending) func take<Taken: Sendable>(
        _ body: (inout State) -> Taken?
    ) async throws(NotifyError) -> Taken? {
        while true {
            if Fork.isChild { throw .forked }
            let (taken, producer) = state.withLock { (body(&$0), takeProducer(&$0)) }
            producer?.answer(.success(0))
            if let taken { return taken }
            guard try await waitForReady() else { return nil }
        }
    }

    /// Waits until there is an outcome to take.
    ///
    /// - Returns: False at the end, and also if no post is pending after a graceful shutdown.
    private nonisolated(nonsending) func waitForReady() async throws(NotifyError) -> Bool {
        let slot = ReplySlot<Bool>()
        let early = state.withLock { state -> Bool? in
            if let answer = answer(state) { return answer }
            state.consumer = slot
            return nil
        }
        if let early { return early }
        return try await slot.wait {
            self.cancelWait(slot)
        } onGracefulShutdown: {
            self.serviceShutDown()
        }
    }

    private func cancelWait(_ slot: ReplySlot<Bool>) {
        state.withLock { state in
            if state.consumer === slot { state.consumer = nil }
        }
        slot.answer(.failure(.cancelled))
    }

    /// The answer to a waiting consumer: whether there is an outcome to take; nil if it has to wait.
    private func answer(_ state: State) -> Bool? {
        if state.ready > 0 { return true }
        return (state.isFinished || isShutDown) && state.outcomes.isEmpty ? false : nil
    }

    /// Takes the waiting consumer and its answer, if there is an answer.
    private func takeConsumer(_ state: inout State) -> (ReplySlot<Bool>?, Bool) {
        guard state.consumer != nil, let answer = answer(state) else { return (nil, false) }
        return (state.consumer.take(), answer)
    }

    /// Takes the waiting producer if at least half of the capacity is free. This threshold reduces the number of
    /// wake-ups.
    private func takeProducer(_ state: inout State) -> ReplySlot<Int>? {
        guard state.producer != nil, capacity - state.outcomes.count >= (capacity + 1) / 2 else { return nil }
        return state.producer.take()
    }
}

extension NotifyError {
    fileprivate static let shutDownWithoutRoom = NotifyError(
        .cancelled, "the service was shut down while the post waited for room in the pipeline; it was not sent")
}

extension PipelineBuffer.State {
    /// Takes the first outcomes up to the first unknown one, at most `limit`; nil if there are none.
    fileprivate mutating func takeReady(atMost limit: Int) -> [PipelineBuffer.Outcome]? {
        let count = min(ready, limit)
        guard count > 0 else { return nil }
        let batch = outcomes.prefix(count).compactMap(\.self)
        outcomes.removeFirst(count)
        taken += UInt64(count)
        ready -= count
        return batch
    }
}
