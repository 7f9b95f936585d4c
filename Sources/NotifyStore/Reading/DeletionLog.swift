import NotifyLog
import NotifyWire

/// The deletions of messages, from which a reader of pages learns which messages were deleted before it could read
/// them. Each deletion has a mark, the number of its transaction, and a reader continues after the mark of the last
/// deletion that it has learnt of. The deletions are also rows of the database, for readers that continue after a
/// restart.
///
/// The memory is bounded: if there are many deletions, the older ones are summed up for each name, and in the end for
/// all names together. No deletion is dropped. A reader whose mark is known to be from another log gets all of them.
struct DeletionLog {
    /// Messages of a name that were deleted.
    struct Event: Equatable {
        /// The number of the transaction. Ascends with each transaction that deletes messages.
        var mark: UInt64 = 0
        /// The name; nil if it is unknown, or if the messages have several names.
        var name: [UInt8]?
        /// A range that includes the messages.
        var first: UInt64
        var last: UInt64
        var count: UInt64
        /// Whether several deletions are summed up. The range may then include messages that were not deleted.
        var isSum = false

        mutating func add(_ other: Event) {
            mark = max(mark, other.mark)
            if name != other.name { name = nil }
            (first, last) = (min(first, other.first), max(last, other.last))
            // A crafted file can contain any counts.
            count = min(count + other.count, last - first + 1)
            isSum = true
        }

        /// Adds the messages of another event, if it has the same name and range.
        ///
        /// - Returns: Whether the name and the range are the same.
        mutating func merge(_ other: Event) -> Bool {
            guard name == other.name, first == other.first, last == other.last, isSum == other.isSum else {
                return false
            }
            count = min(count + other.count, last - first + 1)
            return true
        }

        func marked(_ mark: UInt64) -> Event {
            var event = self
            event.mark = mark
            return event
        }

        /// Whether the numbers are possible in a log.
        var isPossible: Bool {
            first > 0 && first <= last && last < Limits.sequenceEnd && count > 0 && count <= last - first + 1
        }
    }

    static let maximumEvents = 4_096
    /// The most names of one transaction that are kept in memory. Those that do not fit in the row of the transaction
    /// are known until the end of the process. Of a transaction with more names, only those in its row are kept.
    private static let maximumNames = 1_024

    /// The deletions, ascending by mark. The deletions of one transaction have the same mark.
    private(set) var events: [Event] = []
    /// The mark of the last deletion. It is at least 2, and at least the log's time in microseconds when the log was
    /// opened. That time never goes back, even if the wall clock is set back.
    private(set) var mark: UInt64

    /// The deletions of the transaction that is under way.
    private var noted: [Event] = []
    /// The deletions that are added to `events` when the transaction is committed.
    private var added: [Event] = []

    /// The mark up to which the deletions are in the database.
    private var writtenThrough: UInt64
    /// The rows up to this mark may differ from the deletions in memory; nil if no row does.
    private(set) var staleThrough: UInt64?
    /// Whether the disk has room for rows.
    enum Room {
        case enough
        /// A transaction with rows has failed on a full disk. The next transaction writes no row.
        case none
        /// Rows wait for room.
        case scarce
    }

    var room = Room.enough
    /// Whether the table is damaged. A damaged table is not changed.
    var isUnwritable = false

    /// - Parameter time: The log's time.
    init(at time: Duration = .zero) {
        mark = UInt64(max(2, time.microseconds))
        writtenThrough = mark
    }

    // MARK: Adding

    /// Notes a deletion of the transaction that is under way.
    mutating func note(_ event: Event) {
        guard event.isPossible else { return }
        noted.append(event)
    }

    /// Whether the transaction under way has rows to write.
    var hasRows: Bool { !noted.isEmpty || mark > writtenThrough }

    /// The rows that the transaction under way has to write: the row of its deletions, and earlier rows for which there
    /// was no room.
    mutating func takeRows() -> [DeletionRow] {
        let isLate = isWritable && mark > writtenThrough
        var rows = isLate ? Self.rows(of: events.drop { $0.mark <= writtenThrough }, isFitting: true) : []
        if !noted.isEmpty {
            let deleted = takeNoted()
            let row = DeletionRow(mark: mark + 1, fitting: deleted)
            added = deleted.count <= Self.maximumNames ? deleted.map { $0.marked(row.mark) } : row.events
            rows.append(row)
        }
        return isWritable ? rows : []
    }

    /// Takes the noted deletions. Those with the same name and range, which are the messages of several users, are
    /// added up.
    private mutating func takeNoted() -> [Event] {
        var events: [Event] = []
        var indices: [[UInt8]?: Int] = [:]
        for event in noted {
            if let index = indices[event.name], events[index].merge(event) { continue }
            indices[event.name] = events.count
            events.append(event)
        }
        noted = []
        return events
    }

    var isWritable: Bool { room == .enough && !isUnwritable }

    /// Adds the deletions of the committed transaction.
    ///
    /// - Returns: Whether the transaction had deletions.
    mutating func commit() -> Bool {
        let hasDeleted = !added.isEmpty
        append(added)
        added = []
        if isWritable { writtenThrough = mark }
        if room == .none { room = .scarce }
        return hasDeleted
    }

    /// Drops the deletions of the failed transaction.
    ///
    /// - Parameter isFull: Whether the disk was full.
    mutating func rollBack(isFull: Bool) {
        if isFull, !added.isEmpty || mark > writtenThrough { room = .none }
        (noted, added) = ([], [])
    }

    /// Adds a row of the database. Must be called in ascending order of marks.
    mutating func read(_ row: DeletionRow) {
        append(row.events)
        mark = max(mark, row.mark)
        writtenThrough = mark
    }

    private mutating func append(_ added: [Event]) {
        guard let last = added.last else { return }
        while events.count + added.count > Self.maximumEvents { compact() }
        events += added
        mark = max(mark, last.mark)
    }

    /// Adds an upper bound of unknown deletions: every message until now may have been deleted.
    ///
    /// - Parameter last: The highest sequence of a message until now.
    mutating func noteUnknown(through last: UInt64) {
        // All rows are replaced, because the marks of damaged rows are unknown.
        staleThrough = UInt64(Int64.max)
        let all = Event(mark: mark + 1, first: 1, last: last, count: last, isSum: true)
        if all.isPossible { append([all]) }
    }

    /// Sums up the older half of the deletions by name, or in one sum if there are too many names.
    private mutating func compact() {
        let end = events[(events.count - 1) / 2].mark
        let old = events.prefix { $0.mark <= end }
        var sums: [[UInt8]?: Event] = [:]
        for event in old where sums[event.name]?.add(event) == nil { sums[event.name] = event }
        if sums.count > old.count / 2, var all = old.first {
            for event in old.dropFirst() { all.add(event) }
            sums = [nil: all]
        }
        events.replaceSubrange(..<old.endIndex, with: sums.values.sorted { $0.mark < $1.mark })
        staleThrough = max(staleThrough ?? 0, end)
    }

    // MARK: Rows

    /// The rows of the deletions with marks up to a mark.
    func rows(through end: UInt64) -> [DeletionRow] { Self.rows(of: events.prefix { $0.mark <= end }) }

    /// - Parameter isFitting: Whether deletions are summed up where a row would not fit in a page.
    private static func rows(of events: ArraySlice<Event>, isFitting: Bool = false) -> [DeletionRow] {
        var rows: [DeletionRow] = []
        var rest = events
        while let mark = rest.first?.mark {
            let part = rest.prefix { $0.mark == mark }
            rows.append(
                isFitting
                    ? DeletionRow(mark: mark, fitting: Array(part)) : DeletionRow(mark: mark, events: Array(part)))
            rest = rest.dropFirst(part.count)
        }
        return rows
    }

    /// Notes that the rows up to a mark were written to the database.
    mutating func rewritten(through end: UInt64) {
        if let stale = staleThrough, stale <= end { staleThrough = nil }
        writtenThrough = max(writtenThrough, min(end, mark))
    }

    /// Continues in a new database, which has no rows yet.
    mutating func moveToNewDatabase() {
        (writtenThrough, staleThrough) = (0, nil)
        (room, isUnwritable) = (.enough, false)
    }

    /// Raises the marks of all deletions above every mark that a reader of this log or of another one may have, so that
    /// each of these readers gets all deletions.
    ///
    /// - Parameter other: The mark of the other log.
    mutating func raiseMarks(above other: UInt64) {
        mark = max(mark, other)
        var previous: UInt64 = 0
        for index in events.indices {
            if events[index].mark != previous { mark += 1 }
            previous = events[index].mark
            events[index].mark = mark
        }
        // The mark of one more row, which has no deletions and only keeps the mark.
        mark += 1
        writtenThrough = mark
    }

    // MARK: Reading

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
        // A higher mark is from another log. `ReadLog.allDeletions` is lower than every mark.
        let isKnown = request.deletionMark <= mark
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
            missed.add(loss)
            if let all = missed { missed?.count = min(all.count, all.last - all.first + 1) }
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
