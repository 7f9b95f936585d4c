import DequeModule

/// A FIFO of message batches and the gaps between them. Can drop its oldest messages.
struct DeliveryQueue {
    enum Element {
        /// The messages of a batch that were not taken yet; never an empty range.
        case messages(MessageBatch, Range<Int>)
        case gap(NotificationClient.Gap)
    }

    private var elements: Deque<Element> = []
    /// The gaps before the first element, merged to at most one for each reason.
    private var headGaps: [NotificationClient.Gap] = []
    private(set) var messageCount = 0
    private(set) var byteCount = 0

    var isEmpty: Bool { elements.isEmpty && headGaps.isEmpty }

    func isFull(_ bounds: DeliveryBuffer.Bounds) -> Bool {
        messageCount >= bounds.messages || byteCount >= bounds.bytes
    }

    mutating func append(_ batch: MessageBatch) {
        append(.messages(batch, 0..<batch.entries.count))
    }

    mutating func append(_ gap: NotificationClient.Gap) {
        append(.gap(gap))
    }

    /// Appends all items of another queue.
    mutating func append(contentsOf other: DeliveryQueue) {
        for gap in other.headGaps { append(gap) }
        for element in other.elements { append(element) }
    }

    private mutating func append(_ element: Element) {
        switch element {
        case .messages(let batch, let range):
            guard !range.isEmpty else { return }
            messageCount += range.count
            byteCount += batch.frameBytes(range)
            elements.append(element)
        case .gap(let gap):
            // Consecutive gaps are merged, so that their number stays bounded.
            if case .gap(let last)? = elements.last, last.reason == gap.reason {
                elements[elements.count - 1] = .gap(last.joined(with: gap))
            } else {
                elements.append(element)
            }
        }
    }

    /// Removes and returns the first batch and the gaps before it.
    mutating func popFirst() -> DeliveryBuffer.Taken {
        var taken = DeliveryBuffer.Taken(gaps: headGaps)
        headGaps.removeAll()
        while let first = elements.popFirst() {
            switch first {
            case .gap(let gap):
                taken.gaps.append(gap)
            case .messages(let batch, let range):
                remove(batch, range)
                taken.batch = batch
                taken.range = range
                return taken
            }
        }
        return taken
    }

    mutating func removeAll() {
        self = DeliveryQueue()
    }

    private mutating func remove(_ batch: MessageBatch, _ range: Range<Int>) {
        messageCount -= range.count
        byteCount -= batch.frameBytes(range)
    }
}

// MARK: - Dropping

extension DeliveryQueue {
    /// Drops the oldest messages beyond the bounds and puts a gap in their place. The newest message stays, even if it
    /// exceeds the bounds by itself.
    ///
    /// - Returns: The number of messages dropped.
    mutating func dropOldest(beyond bounds: DeliveryBuffer.Bounds) -> UInt64 {
        let before = messageCount
        while isOver(bounds), let first = elements.popFirst() {
            switch first {
            case .gap(let gap): addHeadGap(gap)
            case .messages(let batch, let range): dropOldest(of: batch, range, beyond: bounds)
            }
        }
        return UInt64(before - messageCount)
    }

    /// Drops all messages, without a gap in their place. Gaps stay.
    ///
    /// - Returns: The number of messages dropped.
    mutating func dropMessages() -> UInt64 {
        let count = messageCount
        for case .gap(let gap) in elements { addHeadGap(gap) }
        elements.removeAll()
        (messageCount, byteCount) = (0, 0)
        return UInt64(count)
    }

    private func isOver(_ bounds: DeliveryBuffer.Bounds) -> Bool {
        messageCount > 1 && (messageCount > bounds.messages || byteCount > bounds.bytes)
    }

    private mutating func dropOldest(
        of batch: MessageBatch, _ range: Range<Int>, beyond bounds: DeliveryBuffer.Bounds
    ) {
        var rest = range
        // Ascending sequences are not assumed, so that a faulty daemon can't cause an invalid range.
        var (lowest, highest) = (UInt64.max, UInt64.min)
        while isOver(bounds), let index = rest.popFirst() {
            remove(batch, index..<index + 1)
            let sequence = batch.sequence(index)
            (lowest, highest) = (min(lowest, sequence), max(highest, sequence))
        }
        addHeadGap(
            .init(reason: .consumerTooSlow, missed: UInt64(range.count - rest.count), sequences: lowest...highest))
        if !rest.isEmpty { elements.prepend(.messages(batch, rest)) }
    }

    /// Removes and returns the gap of a reason before the first element.
    mutating func takeHeadGap(_ reason: NotificationClient.Gap.Reason) -> NotificationClient.Gap? {
        headGaps.firstIndex { $0.reason == reason }.map { headGaps.remove(at: $0) }
    }

    private mutating func addHeadGap(_ gap: NotificationClient.Gap) {
        if let index = headGaps.firstIndex(where: { $0.reason == gap.reason }) {
            headGaps[index] = headGaps[index].joined(with: gap)
        } else {
            headGaps.append(gap)
        }
    }
}

extension MessageBatch {
    /// The size of the frames of some of the batch's messages, in bytes.
    func frameBytes(_ range: Range<Int>) -> Int {
        if range.count == entries.count { return byteCount }
        return range.reduce(0) { $0 + Int(entries[$1].length) + Self.headerBytes }
    }
}
