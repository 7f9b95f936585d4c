import NotifyLog
import NotifyWire

/// The deletions of messages since the log was opened, so that a reader of pages learns what was deleted before it got
/// there. Bounded: of many deletions, the older ones are summed up for each name, and at last for all names together.
/// A reader whose mark is that of an earlier opening gets all of them; deletions before the opening are unknown.
struct DeletionLog {
    /// Messages of a name that were deleted.
    struct Event: Equatable {
        /// Ascends with each deletion.
        var mark: UInt64 = 0
        /// Nil if the messages have several names.
        var name: [UInt8]?
        /// A range that includes the messages.
        var first: UInt64
        var last: UInt64
        var count: UInt64
        /// Whether several deletions are summed up, so that the range may include messages of none.
        var isSum = false

        mutating func add(_ other: Event) {
            mark = max(mark, other.mark)
            if name != other.name { name = nil }
            (first, last) = (min(first, other.first), max(last, other.last))
            count += other.count
            isSum = true
        }
    }

    private static let maximumEvents = 4_096

    private(set) var events: [Event] = []
    /// Marks the deletions so far. At least 2. Begins with the log's time, which does not go back when the clock is
    /// set.
    private(set) var mark: UInt64
    /// The mark at the start. A lower one, or one above `mark`, is of an earlier opening.
    private let start: UInt64

    /// - Parameter time: The log's time.
    init(at time: Duration = .zero) {
        mark = UInt64(max(2, time.microseconds))
        start = mark
    }

    mutating func note(_ event: Event) {
        guard event.count > 0 else { return }
        mark += 1
        var event = event
        event.mark = mark
        if events.count == Self.maximumEvents { compact() }
        events.append(event)
    }

    /// Sums up the older half by name, or if there are too many names, altogether.
    private mutating func compact() {
        let old = events.prefix(Self.maximumEvents / 2)
        var sums: [[UInt8]?: Event] = [:]
        for event in old where sums[event.name]?.add(event) == nil { sums[event.name] = event }
        if sums.count > Self.maximumEvents / 4, var all = old.first {
            for event in old.dropFirst() { all.add(event) }
            sums = [nil: all]
        }
        events.replaceSubrange(..<old.endIndex, with: sums.values.sorted { $0.mark < $1.mark })
    }

    /// The messages of a request that were deleted since its mark, in the part of its range that a page has read. A
    /// deletion that spans several pages is reported by each of them for its own part, as an upper bound.
    ///
    /// - Parameters:
    ///   - scanned: The sequence that the page has reached.
    ///   - isEnd: Whether the page is the last one of the range.
    func missed(by request: PageRequest, scanned: UInt64, isEnd: Bool) -> Loss? {
        guard request.deletionMark > 0 else { return nil }
        var (start, end) = (request.after + 1, request.through)
        if !isEnd { if request.isDescending { start = max(start, scanned) } else { end = min(end, scanned) } }
        let isKnown = (self.start...mark).contains(request.deletionMark)
        var missed: Loss?
        for event in events.reversed() {
            guard !isKnown || event.mark > request.deletionMark else { break }
            let (first, last) = (max(event.first, start), min(event.last, end))
            guard first <= last, request.mayMatch(event.name) else { continue }
            let loss = Loss(
                first: first, last: last, count: min(event.count, last - first + 1),
                isUpperBound: event.isSum || request.filter.object != nil || event.name == nil
                    || event.name.map { $0.withUnsafeBytes { DeadLetterHeaders.isDeadLetter($0) } } ?? true
                    || (first, last) != (event.first, event.last))
            if missed?.add(loss) == nil { missed = loss }
        }
        return missed
    }
}

extension PageRequest {
    /// Whether messages of a name may be for the reader; true if the name is unknown.
    fileprivate func mayMatch(_ name: [UInt8]?) -> Bool {
        name?.withUnsafeBytes { filter.matches(name: $0) && access.permits($0) } ?? true
    }
}

extension Log {
    /// Notes deleted messages of a segment, for readers.
    func noteDeleted(_ entries: [SegmentEntry], in segment: Segment) {
        for entry in entries {
            guard let name = name(of: entry.key) else { continue }
            deletions.note(
                .init(name: name, first: segment.first, last: segment.last, count: UInt64(entry.messages)))
        }
    }

    /// Notes deleted messages, for readers.
    func noteDeleted(_ parts: [SegmentEntry.Key: DeletedPart]) {
        for event in events(of: parts) { deletions.note(event) }
    }

    func events(of parts: [SegmentEntry.Key: DeletedPart]) -> [DeletionLog.Event] {
        parts.compactMap { key, part in
            guard let first = part.sequences.first, let last = part.sequences.last, let name = name(of: key) else {
                return nil
            }
            return .init(name: name, first: first, last: last, count: UInt64(part.sequences.count))
        }
    }

    private func name(of key: SegmentEntry.Key) -> [UInt8]? {
        names.number(ofID: key.name).map { names.withBytes(of: $0) { Array($0) } }
    }
}
