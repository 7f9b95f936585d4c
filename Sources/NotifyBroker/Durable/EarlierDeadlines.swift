/// The deadlines of messages in flight for the first time that were delivered before a change of the settings.
struct EarlierDeadlines {
    /// Successive messages that were delivered under the same settings.
    private struct Span {
        /// The last message of the span.
        let through: UInt64
        /// The time in which each message must be answered, in microseconds; 0 for no limit.
        var microseconds: UInt64
        /// The messages up to this sequence are acknowledged, or belong to earlier spans.
        var searchedThrough: UInt64 = 0
    }

    /// The maximum number of spans. A further span is joined with the previous one, under the longer of the two times.
    static let maximumCount = 16

    /// The spans in ascending order of sequence.
    private var spans: [Span] = []
    private var searchedThrough: UInt64 = 0

    var count: Int { spans.count }

    /// Records that the settings change.
    mutating func changed(from microseconds: UInt64, deliveredThrough sequence: UInt64) {
        guard sequence > spans.last?.through ?? 0 else { return }
        var span = Span(through: sequence, microseconds: microseconds, searchedThrough: spans.last?.through ?? 0)
        if spans.count == Self.maximumCount, let last = spans.popLast() {
            let isLimited = last.microseconds > 0 && microseconds > 0
            span.microseconds = isLimited ? max(last.microseconds, microseconds) : 0
            span.searchedThrough = last.searchedThrough
        }
        spans.append(span)
        searchedThrough = sequence
    }

    /// The time in which a message must be answered, in microseconds; nil if the current settings apply.
    func microseconds(of sequence: UInt64) -> UInt64? { spans.first { sequence <= $0.through }?.microseconds }

    /// Of the messages in flight for the first time, the one with the next deadline; nil if none has a deadline.
    ///
    /// - Parameter current: The time of the current settings, in microseconds.
    mutating func next(
        in messages: InFlightMessages, current: UInt64, now: Duration
    ) -> (sequence: UInt64, time: Duration)? {
        spans.removeAll { $0.through < messages.oldest ?? .max }
        guard !spans.isEmpty else { return current == 0 ? nil : Self.next(messages, after: 0, current, now) }
        var earliest: (sequence: UInt64, time: Duration)?
        for index in spans.indices where spans[index].microseconds > 0 {
            let span = spans[index]
            guard let next = Self.next(messages, after: span.searchedThrough, span.microseconds, now) else { continue }
            spans[index].searchedThrough = min(next.sequence - 1, span.through)
            if next.sequence <= span.through, earliest.map({ next.time < $0.time }) ?? true { earliest = next }
        }
        if current > 0, let next = Self.next(messages, after: searchedThrough, current, now) {
            searchedThrough = next.sequence - 1
            if earliest.map({ next.time < $0.time }) ?? true { earliest = next }
        }
        return earliest
    }

    private static func next(
        _ messages: InFlightMessages, after sequence: UInt64, _ microseconds: UInt64, _ now: Duration
    ) -> (sequence: UInt64, time: Duration)? {
        messages.first(after: sequence, now: now).map {
            ($0.sequence, $0.delivered + .microseconds(Int64(microseconds)))
        }
    }
}
