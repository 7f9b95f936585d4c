import NotifyWire

/// The state of a `DeliveryBuffer`. The buffer guards the state with a lock.
struct DeliveryBufferState {
    private let policy: DeliveryBuffer.Policy
    /// The number of messages that may still be taken; nil for no limit.
    private var limit: Int?
    /// The items to take, in order.
    private var ready = DeliveryQueue()
    /// Live items that arrived before the end of the snapshot. They are taken after the snapshot.
    private var live = DeliveryQueue()
    /// The progress of reading the snapshot; nil without a snapshot, and after its end.
    private var logSnapshot: LogSnapshot?
    private(set) var pausesReading = false
    private(set) var droppedCount: UInt64 = 0
    var unreportedDrops: UInt64 = 0
    /// The items that were taken from `ready` and not read yet. They belong to the subscription, not to an iterator, so
    /// that an iterator continues where the last one stopped.
    var taken = DeliveryBuffer.Taken()
    private var end: ReplySlot<Bool>.Answer?
    /// The task that waits for items to read.
    var consumer: ReplySlot<Bool>?

    init(policy: DeliveryBuffer.Policy, limit: Int?) {
        self.policy = policy
        self.limit = limit
        if limit == 0 { end = .success(false) }
    }

    mutating func put(_ item: DeliveryBuffer.Item) {
        guard end == nil else { return }
        switch item {
        case .batch(let batch):
            if holdsLive { live.append(batch) } else { ready.append(batch) }
        case .gap(let gap):
            if replacesWithLog(gap) { return }
            if holdsLive { live.append(gap) } else { ready.append(gap) }
        case .logSnapshotBegan(let range, let reportsEarlierDeletions):
            logSnapshot = LogSnapshot(range, reportsEarlierDeletions: reportsEarlierDeletions)
        case .page(let page, let range):
            for gap in page.gaps { ready.append(gap) }
            for batch in page.batches { ready.append(batch) }
            logSnapshot?.received(page, of: range)
        case .end(let error):
            end = error.map { .failure($0) } ?? .success(false)
            live.removeAll()
            logSnapshot = nil
        }
        enforceBounds()
    }

    private var holdsLive: Bool { logSnapshot != nil }

    private mutating func releaseLive() {
        guard !holdsLive else { return }
        ready.append(contentsOf: live)
        live.removeAll()
    }

    /// Takes the next items, unless there are still items to read.
    ///
    /// - Returns: Whether there are items to read, or the error of the end; nil if the caller has to wait.
    mutating func fill() -> ReplySlot<Bool>.Answer? {
        if taken.isEmpty { take() }
        return taken.isEmpty ? end : .success(true)
    }

    private mutating func take() {
        taken = ready.popFirst()
        applyLimit()
        enforceBounds()
    }

    /// Applies the limit to the items that were taken.
    private mutating func applyLimit() {
        guard let left = limit else { return }
        taken.range = taken.range.prefix(left)
        limit = left - taken.range.count
        guard limit == 0 else { return }
        ready.removeAll()
        live.removeAll()
        logSnapshot = nil
        end = .success(false)
    }

    private mutating func enforceBounds() {
        if logSnapshot != nil { return evictLive() }
        switch policy {
        case .dropOldest(let bounds): countDropped(ready.dropOldest(beyond: bounds))
        case .pauseReading(let bounds): updatePausing(messages: ready.messageCount, bytes: ready.byteCount, bounds)
        case .windowed: break
        }
    }

    private mutating func countDropped(_ count: UInt64) {
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

// MARK: - Reading the log

extension DeliveryBufferState {
    /// The part of the log to read next; nil if other items can be taken, or if there is nothing to read. Ends a
    /// snapshot that was read and taken completely.
    mutating func rangeToRead() -> DeliveryBuffer.RangeToRead? {
        guard let snapshot = logSnapshot, ready.isEmpty else { return nil }
        guard snapshot.isComplete else {
            return .init(
                range: snapshot.rest, maximumMessages: min(limit ?? .max, Int(Limits.messagesPerLogPage)),
                deletionMark: snapshot.deletionMark)
        }
        logSnapshot = nil
        if let gap = snapshot.gap {
            ready.append(gap)
            if gap.reason == .consumerTooSlow { countDropped(gap.missed ?? 0) }
        }
        releaseLive()
        enforceBounds()
        return nil
    }

    /// Drops the live messages that have no room. The stored ones among them are read from the log with the snapshot.
    private mutating func evictLive() {
        guard let bounds else { return }
        let count = live.dropOldest(beyond: bounds)
        guard count > 0, let gap = live.takeHeadGap(.consumerTooSlow), let last = gap.sequences?.upperBound else {
            return
        }
        logSnapshot?.evicted(count, through: last, gap.reason)
    }

    /// Extends the snapshot to the messages that the daemon has dropped, and to all live messages before them. The
    /// stored ones among them are read from the log.
    ///
    /// - Returns: Whether the log replaces the gap: there is a snapshot, and the gap has the number and the range of
    ///   messages that the daemon has dropped.
    private mutating func replacesWithLog(_ gap: NotificationClient.Gap) -> Bool {
        guard logSnapshot != nil, gap.reason == .connectionTooSlow, let missed = gap.missed,
            let last = gap.sequences?.upperBound
        else { return false }
        logSnapshot?.evicted(missed + live.dropMessages(), through: last, gap.reason)
        return true
    }

    private var bounds: DeliveryBuffer.Bounds? {
        switch policy {
        case .dropOldest(let bounds), .pauseReading(let bounds): bounds
        case .windowed: nil
        }
    }
}
