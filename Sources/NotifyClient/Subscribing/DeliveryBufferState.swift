/// The state of a `DeliveryBuffer`, which guards it with a lock.
struct DeliveryBufferState {
    private let policy: DeliveryBuffer.Policy
    /// The number of messages that may still be taken; nil for no limit.
    private var limit: Int?
    /// The items to take, in order.
    private var ready = DeliveryQueue()
    /// Live items that arrived before the end of the snapshot. They are taken after the snapshot.
    private var live = DeliveryQueue()
    private var awaitsSnapshot = false
    /// The number of the snapshot's messages in `ready`, and their bytes.
    private var snapshotCount = 0
    private var snapshotBytes = 0
    private(set) var pausesReading = false
    private(set) var droppedCount: UInt64 = 0
    var unreportedDrops: UInt64 = 0
    private var end: ReplySlot<DeliveryBuffer.Taken>.Answer?
    /// The task that waits for the next messages.
    var consumer: ReplySlot<DeliveryBuffer.Taken>?

    init(policy: DeliveryBuffer.Policy, limit: Int?) {
        self.policy = policy
        self.limit = limit
        if limit == 0 { end = .success(DeliveryBuffer.Taken()) }
    }

    mutating func put(_ item: DeliveryBuffer.Item) {
        guard end == nil else { return }
        switch item {
        case .batch(let batch):
            if awaitsSnapshot { live.append(batch) } else { ready.append(batch) }
        case .gap(let gap):
            if awaitsSnapshot { live.append(gap) } else { ready.append(gap) }
        case .snapshotBegan:
            awaitsSnapshot = true
        case .snapshot(let batch):
            ready.append(batch)
            snapshotCount += batch.entries.count
            snapshotBytes += batch.byteCount
        case .snapshotEnded:
            awaitsSnapshot = false
            ready.append(contentsOf: live)
            live.removeAll()
        case .end(let error):
            end = error.map { .failure($0) } ?? .success(DeliveryBuffer.Taken())
            live.removeAll()
        }
        enforceBounds()
    }

    /// Takes the next items, or the end; nil if the caller has to wait.
    mutating func take() -> ReplySlot<DeliveryBuffer.Taken>.Answer? {
        var taken = ready.popFirst()
        if let batch = taken.batch, batch.entries[taken.range.lowerBound].isSnapshot {
            snapshotCount -= taken.range.count
            snapshotBytes -= batch.frameBytes(taken.range)
        }
        applyLimit(to: &taken)
        enforceBounds()
        return taken.isEmpty ? end : .success(taken)
    }

    private mutating func applyLimit(to taken: inout DeliveryBuffer.Taken) {
        guard let left = limit else { return }
        taken.range = taken.range.prefix(left)
        limit = left - taken.range.count
        guard limit == 0 else { return }
        ready.removeAll()
        live.removeAll()
        end = .success(DeliveryBuffer.Taken())
    }

    private mutating func enforceBounds() {
        switch policy {
        case .dropOldest(let bounds):
            drop { $0.ready.dropOldest(beyond: bounds) }
            drop { $0.live.dropOldest(beyond: bounds) }
        case .pauseReading(let bounds):
            // Pausing for live messages would be a deadlock: they wait for the rest of the snapshot, which would not
            // arrive either.
            drop { $0.live.dropOldest(beyond: bounds) }
            updatePausing(messages: ready.messageCount, bytes: ready.byteCount, bounds)
        case .windowed:
            updatePausing(messages: snapshotCount, bytes: snapshotBytes, .standard)
        }
    }

    private mutating func drop(_ body: (inout Self) -> UInt64) {
        let count = body(&self)
        droppedCount += count
        unreportedDrops += count
    }

    /// Pauses reading at the bounds and resumes it at half of them. This hysteresis avoids toggling at every message.
    private mutating func updatePausing(messages: Int, bytes: Int, _ bounds: DeliveryBuffer.Bounds) {
        let part = pausesReading ? 2 : 1
        pausesReading =
            end == nil && (messages >= max(1, bounds.messages / part) || bytes >= max(1, bounds.bytes / part))
    }
}
