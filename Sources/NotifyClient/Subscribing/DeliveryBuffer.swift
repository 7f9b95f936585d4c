import NotifyCenter
import ServiceLifecycle
import Synchronization

/// Messages that have arrived for a subscription and were not taken by its consumer.
final class DeliveryBuffer: Sendable {
    struct Bounds: Sendable {
        var messages: Int
        var bytes: Int

        /// Of a subscription that chose none.
        static let standard = Bounds(messages: 65_536, bytes: 32 << 20)
    }

    /// How the buffer is bounded.
    enum Policy: Sendable {
        /// Drops the oldest messages and puts a gap in their place.
        case dropOldest(Bounds)
        /// Asks for a pause in reading from the connection. Messages that were read before are kept, so that the buffer may
        /// exceed its bounds by them.
        case holdBack(Bounds)
        /// Needs no bound: the daemon hands over no more than the subscription's window before acknowledgements. Asks for a
        /// pause only while a snapshot, which has no window, exceeds the standard bounds.
        case windowed
    }

    enum Item: Sendable {
        case batch(MessageBatch)
        case gap(NotifyClient.Gap)
        /// Batches and gaps are live from here on, and follow the snapshot.
        case snapshotBegan
        /// Messages of the snapshot.
        case snapshot(MessageBatch)
        case snapshotEnded
        /// Nothing follows; with the reason, where there is one.
        case end(NotifyError?)
    }

    /// What a consumer takes at a time. Empty at the end.
    struct Taken: Sendable {
        var gaps: [NotifyClient.Gap] = []
        var batch: MessageBatch?
        var range: Range<Int> = 0..<0

        var isEmpty: Bool { gaps.isEmpty && range.isEmpty }
    }

    private let state: Lock<DeliveryBufferState>
    private let numberStorage = Atomic<UInt32>(0)
    /// Called, without a lock held, when `holdsBack` has changed or messages were dropped since the last report.
    private let onChange: @Sendable (DeliveryBuffer) -> Void

    init(policy: Policy, limit: Int?, onChange: @escaping @Sendable (DeliveryBuffer) -> Void = { _ in }) {
        state = Lock(DeliveryBufferState(policy: policy, limit: limit))
        self.onChange = onChange
    }

    /// The subscription's number, once it has one.
    var number: UInt32 {
        get { numberStorage.load(ordering: .relaxed) }
        set { numberStorage.store(newValue, ordering: .relaxed) }
    }

    /// All messages that were ever dropped.
    var droppedCount: UInt64 { state.withLock(\.droppedCount) }

    /// Whether reading from the connection should pause until the consumer has taken messages.
    var holdsBack: Bool { state.withLock(\.holdsBack) }

    var hasUnreportedDrops: Bool { state.withLock { $0.unreportedDrops > 0 } }

    /// Takes the number of messages that were dropped since the last call.
    func takeUnreportedDrops() -> UInt64 {
        state.withLock { state in
            defer { state.unreportedDrops = 0 }
            return state.unreportedDrops
        }
    }

    func put(_ item: Item) {
        let (consumer, answer) = update { state in
            state.put(item)
            guard let consumer = state.consumer, let answer = state.take() else {
                return (nil as ReplySlot<Taken>?, nil as ReplySlot<Taken>.Answer?)
            }
            state.consumer = nil
            return (consumer, answer)
        }
        if let answer { consumer?.answer(answer) }
    }

    /// Changes the state, and reports a change that concerns the connection.
    private func update<Value: Sendable>(_ body: (inout DeliveryBufferState) -> Value) -> Value {
        let (result, hasChanged) = state.withLock { state in
            let (heldBack, hadDrops) = (state.holdsBack, state.unreportedDrops > 0)
            let result = body(&state)
            return (result, state.holdsBack != heldBack || (state.unreportedDrops > 0) != hadDrops)
        }
        if hasChanged { onChange(self) }
        return result
    }
}

// MARK: - Taking

extension DeliveryBuffer {
    /// Waits for messages or gaps; empty at the end and in a task that is cancelled.
    ///
    /// In a task that is shut down gracefully the buffer ends after what it holds.
    nonisolated(nonsending) func next() async throws(NotifyError) -> Taken {
        if Task.isShuttingDownGracefully { put(.end(nil)) }
        if let answer = update({ $0.take() }) { return try answer.get() }
        let slot = ReplySlot<Taken>()
        let early = update { state -> ReplySlot<Taken>.Answer? in
            if let answer = state.take() { return answer }
            guard state.consumer == nil else {
                return .failure(NotifyError(.invalidArgument, "a subscription is read by one task at a time"))
            }
            state.consumer = slot
            return nil
        }
        if let early { return try early.get() }
        return try await slot.wait {
            self.cancel(slot)
        } onGracefulShutdown: {
            self.put(.end(nil))
        }
    }

    private func cancel(_ slot: ReplySlot<Taken>) {
        let wasWaiting = state.withLock { state in
            guard state.consumer === slot else { return false }
            state.consumer = nil
            return true
        }
        if wasWaiting { slot.answer(.success(Taken())) }
    }
}
