import DequeModule
import Synchronization

/// What has arrived for a subscription and was not taken yet.
///
/// A volatile subscription's is bounded: the oldest are dropped, counted and told. A durable one's cannot overflow, because
/// the daemon hands over no more than the subscription's window before acknowledgements.
final class DeliveryBuffer: Sendable {
    struct Bounds: Sendable {
        var messages: Int
        var bytes: Int
    }

    enum Item: Sendable {
        case batch(MessageBatch)
        case gap(NotifyClient.Gap)
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

    private let state: Mutex<DeliveryBufferState>

    init(bounds: Bounds?, limit: Int?) {
        state = Mutex(DeliveryBufferState(bounds: bounds, limit: limit))
    }

    var droppedCount: UInt64 { state.withLock(\.droppedCount) }

    func put(_ item: Item) {
        let (consumer, answer) = state.withLock { state in
            state.put(item)
            guard let consumer = state.consumer, let answer = state.take() else {
                return (nil as ReplySlot<Taken>?, nil as ReplySlot<Taken>.Answer?)
            }
            state.consumer = nil
            return (consumer, answer)
        }
        if let answer { consumer?.answer(answer) }
    }

    /// Waits for something to take; empty at the end and in a task that is cancelled.
    nonisolated(nonsending) func next() async throws(NotifyError) -> Taken {
        let slot = ReplySlot<Taken>()
        let early = state.withLock { state -> ReplySlot<Taken>.Answer? in
            if let answer = state.take() { return answer }
            guard state.consumer == nil else {
                return .failure(NotifyError(.invalidArgument, "a subscription is read by one task at a time"))
            }
            state.consumer = slot
            return nil
        }
        if let early { return try early.get() }
        return try await slot.wait { self.cancel(slot) }
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

/// The buffer without its lock.
struct DeliveryBufferState {
    private var bounds: DeliveryBuffer.Bounds?
    /// Messages that may still be taken.
    private var limit: Int?
    private var items: Deque<DeliveryBuffer.Item> = []
    /// How many messages of the first item, a batch, are gone.
    private var headOffset = 0
    private(set) var messageCount = 0
    private(set) var byteCount = 0
    private(set) var droppedCount: UInt64 = 0
    /// Told before anything else: one for each reason.
    private var headGaps: [NotifyClient.Gap] = []
    private var end: ReplySlot<DeliveryBuffer.Taken>.Answer?
    var consumer: ReplySlot<DeliveryBuffer.Taken>?

    init(bounds: DeliveryBuffer.Bounds?, limit: Int?) {
        self.bounds = bounds
        self.limit = limit
        if limit == 0 { end = .success(DeliveryBuffer.Taken()) }
    }

    mutating func put(_ item: DeliveryBuffer.Item) {
        guard end == nil else { return }
        switch item {
        case .batch(let batch):
            items.append(item)
            messageCount += batch.entries.count
            byteCount += batch.byteCount
            dropBeyondBounds()
        case .gap:
            items.append(item)
            gatherGapsInARow()
        case .end(let error):
            end = error.map { .failure($0) } ?? .success(DeliveryBuffer.Taken())
        }
    }

    /// What can be taken now; nil where there is something to wait for.
    mutating func take() -> ReplySlot<DeliveryBuffer.Taken>.Answer? {
        var taken = DeliveryBuffer.Taken(gaps: headGaps)
        headGaps.removeAll()
        while case .gap(let gap)? = items.first {
            items.removeFirst()
            taken.gaps.append(gap)
        }
        if case .batch(let batch)? = items.first {
            items.removeFirst()
            taken.batch = batch
            taken.range = headOffset..<batch.entries.count
            headOffset = 0
            forget(batch, taken.range)
            applyLimit(to: &taken)
        }
        return taken.isEmpty ? end : .success(taken)
    }

    private mutating func applyLimit(to taken: inout DeliveryBuffer.Taken) {
        guard let left = limit else { return }
        taken.range = taken.range.prefix(left)
        limit = left - taken.range.count
        guard limit == 0 else { return }
        items.removeAll()
        (messageCount, byteCount) = (0, 0)
        end = .success(DeliveryBuffer.Taken())
    }

    private mutating func forget(_ batch: MessageBatch, _ range: Range<Int>) {
        messageCount -= range.count
        byteCount -= range.reduce(0) { $0 + batch.frameBytes($1) }
    }

    // MARK: - Dropping

    /// Drops the oldest. The newest message stays, even if it is over the bounds by itself.
    private mutating func dropBeyondBounds() {
        guard let bounds else { return }
        while messageCount > 1, messageCount > bounds.messages || byteCount > bounds.bytes {
            switch items.first {
            case .batch(let batch)?: dropFirst(of: batch)
            case .gap(let gap)?:
                items.removeFirst()
                addHeadGap(gap)
            default: return
            }
        }
    }

    private mutating func dropFirst(of batch: MessageBatch) {
        let sequence = batch.sequence(headOffset)
        addHeadGap(.init(reason: .consumerTooSlow, missed: 1, sequences: sequence...sequence))
        droppedCount += 1
        forget(batch, headOffset..<headOffset + 1)
        headOffset += 1
        if headOffset == batch.entries.count {
            items.removeFirst()
            headOffset = 0
        }
    }

    private mutating func addHeadGap(_ gap: NotifyClient.Gap) {
        if let index = headGaps.firstIndex(where: { $0.reason == gap.reason }) {
            headGaps[index] = headGaps[index].joined(with: gap)
        } else {
            headGaps.append(gap)
        }
    }

    /// Gaps that stand together with nothing between them become one, so that they can't fill the memory.
    private mutating func gatherGapsInARow() {
        guard items.count > 1, case .gap(let last) = items[items.count - 1],
            case .gap(let before) = items[items.count - 2], before.reason == last.reason
        else { return }
        items.removeLast()
        items[items.count - 1] = .gap(before.joined(with: last))
    }
}

extension MessageBatch {
    func frameBytes(_ index: Int) -> Int { Int(entries[index].length) + Self.headerBytes }
}
