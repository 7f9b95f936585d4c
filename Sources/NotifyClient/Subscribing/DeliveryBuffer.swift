@_spi(Package) import NotifyCenter
import NotifyWire
import ServiceLifecycle
import Synchronization

/// The messages that have arrived for a subscription and that its consumer has not taken yet.
final class DeliveryBuffer: Sendable {
    struct Bounds: Sendable {
        var messages: Int
        var bytes: Int

        /// The default bounds.
        static let standard = Bounds(messages: 65_536, bytes: 32 << 20)
    }

    /// The policy when the buffer reaches its bounds.
    enum Policy: Sendable {
        /// Drops the oldest messages and puts a gap in their place.
        case dropOldest(Bounds)
        /// Pauses reading from the connection. Messages that were already read are kept, so the buffer may exceed its
        /// bounds.
        case pauseReading(Bounds)
        /// Has no bounds here, because the daemon enforces the window of a durable subscription.
        case windowed
    }

    enum Item: Sendable {
        case batch(MessageBatch)
        case gap(NotificationClient.Gap)
        /// The beginning of a snapshot: the consumer first reads the stored messages of this range from the log.
        case logSnapshotBegan(SequenceRange, reportsEarlierDeletions: Bool)
        /// The next part of the snapshot: the answer to a request for the messages of a range.
        case page(ReceivedLogPage, of: SequenceRange)
        /// The end of the subscription, with the error that ended it, if any.
        case end(NotifyError?)
    }

    /// The items that a consumer takes at once: gaps, then messages of one batch. Empty at the end.
    struct Taken: Sendable {
        var gaps: [NotificationClient.Gap] = []
        var batch: MessageBatch?
        var range: Range<Int> = 0..<0

        var isEmpty: Bool { gaps.isEmpty && range.isEmpty }

        /// Removes and returns the first gap or, after the gaps, the first message.
        mutating func popFirst() -> NotificationClient.Subscription.Event? {
            if !gaps.isEmpty { return .gap(gaps.removeFirst()) }
            guard let batch, let index = range.popFirst() else { return nil }
            if range.isEmpty { self.batch = nil }
            return .message(NotificationClient.Message(batch: batch, index: index))
        }
    }

    private let state: Lock<DeliveryBufferState>
    private let numberStorage = Atomic<UInt32>(0)
    /// Called without the lock when `pausesReading` or `hasUnreportedDrops` has changed.
    private let onChange: @Sendable (DeliveryBuffer) -> Void

    init(policy: Policy, limit: Int?, onChange: @escaping @Sendable (DeliveryBuffer) -> Void = { _ in }) {
        state = Lock(DeliveryBufferState(policy: policy, limit: limit))
        self.onChange = onChange
    }

    /// The subscription's number; 0 before it has one.
    var number: UInt32 {
        get { numberStorage.load(ordering: .relaxed) }
        set { numberStorage.store(newValue, ordering: .relaxed) }
    }

    /// The total number of messages dropped.
    var droppedCount: UInt64 { state.withLock(\.droppedCount) }

    /// Whether reading from the connection should pause until the consumer has taken messages.
    var pausesReading: Bool { state.withLock(\.pausesReading) }

    var hasUnreportedDrops: Bool { state.withLock { $0.unreportedDrops > 0 } }

    /// Returns the number of messages dropped since the last call.
    func takeUnreportedDrops() -> UInt64 {
        state.withLock { state in
            defer { state.unreportedDrops = 0 }
            return state.unreportedDrops
        }
    }

    /// The part of the log that the next page of a snapshot covers.
    struct RangeToRead: Sendable {
        let range: SequenceRange
        let maximumMessages: Int
        /// As in `ReadLog`.
        let deletionMark: UInt64
    }

    /// The part of the log to read next for the snapshot of the subscription; nil if other items can be taken, or if
    /// there is nothing to read.
    func rangeToRead() -> RangeToRead? {
        update { $0.rangeToRead() }
    }

    func put(_ item: Item) {
        let (consumer, answer) = update { state in
            state.put(item)
            guard let consumer = state.consumer, let answer = state.fill() else {
                return (nil as ReplySlot<Bool>?, nil as ReplySlot<Bool>.Answer?)
            }
            state.consumer = nil
            return (consumer, answer)
        }
        if let answer { consumer?.answer(answer) }
    }

    /// Changes the state, and calls `onChange` if needed.
    private func update<Value: Sendable>(_ body: (inout DeliveryBufferState) -> Value) -> Value {
        let (result, hasChanged) = state.withLock { state in
            let (heldBack, hadDrops) = (state.pausesReading, state.unreportedDrops > 0)
            let result = body(&state)
            return (result, state.pausesReading != heldBack || (state.unreportedDrops > 0) != hadDrops)
        }
        if hasChanged { onChange(self) }
        return result
    }
}

// MARK: - Taking

extension DeliveryBuffer {
    /// The next gap or message of the taken items; nil if all of them were read.
    func popTaken() throws(NotifyError) -> NotificationClient.Subscription.Event? {
        if Fork.isChild { throw .forked }
        return state.withLock { $0.taken.popFirst() }
    }

    /// Waits for messages or gaps.
    ///
    /// - Returns: The rest of the taken items, or the next items; empty at the end and in a cancelled task.
    nonisolated(nonsending) func next() async throws(NotifyError) -> Taken {
        while true {
            if Fork.isChild { throw .forked }
            let rest = state.withLock { state in
                defer { state.taken = Taken() }
                return state.taken
            }
            if !rest.isEmpty { return rest }
            guard try await fill() else { return Taken() }
        }
    }

    /// Waits until there are taken items to read. When the task is shut down gracefully, the buffer ends after the
    /// items it holds.
    ///
    /// - Returns: False at the end and in a cancelled task.
    nonisolated(nonsending) func fill() async throws(NotifyError) -> Bool {
        if Fork.isChild { throw .forked }
        if Task.isShuttingDownGracefully { put(.end(nil)) }
        if let answer = update({ $0.fill() }) { return try answer.get() }
        let slot = ReplySlot<Bool>()
        let early = update { state -> ReplySlot<Bool>.Answer? in
            if let answer = state.fill() { return answer }
            guard state.consumer == nil else {
                return .failure(NotifyError(.invalidArgument, "only one task at a time may read a subscription"))
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

    private func cancel(_ slot: ReplySlot<Bool>) {
        let wasWaiting = state.withLock { state in
            guard state.consumer === slot else { return false }
            state.consumer = nil
            return true
        }
        if wasWaiting { slot.answer(.success(false)) }
    }
}
