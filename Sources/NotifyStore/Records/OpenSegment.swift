import NotifyLog

/// The segment to which messages are being added. Exists in memory only: a start rebuilds it from its messages.
///
/// Not copyable, because a copy for each message took 400 instructions.
struct OpenSegment: ~Copyable {
    private(set) var segment = Segment()
    /// The entries, in the order of their first messages.
    private(set) var entries: [SegmentEntry] = []
    /// The log's time of the first message.
    private(set) var opened = Duration.zero

    /// The latest entry of each name, by the name's number. Valid if the generation is the current one.
    private var marks: [Mark] = []
    /// For each entry, the previous entry of the same name, which has the messages of another user; -1 for none.
    private var previousEntries: [Int32] = []
    private var generation: UInt32 = 1
    private var savepoint: Savepoint?

    private struct Mark {
        var generation: UInt32 = 0
        var entry: Int32 = -1
    }

    /// The state of the segment before a batch.
    private struct Savepoint {
        var segment: Segment
        var opened: Duration
        var entryCount: Int
        /// The entry and the bytes of each message that the batch has added to the segment.
        var added: [(entry: Int32, bytes: Int)] = []
        /// The entries of the segment when the batch closed it or deleted some of its messages; nil before that.
        var entries: [SegmentEntry]?
        /// The entries before the batch; nil until the batch deletes messages of the segment.
        var earlier: [SegmentEntry]?
    }

    var isEmpty: Bool { segment.messages == 0 }

    /// Whether the segment must be closed before a message is added at the log's time `now`.
    func isFull(adding bytes: Int, now: Duration, _ options: borrowing StoreOptions) -> Bool {
        !isEmpty
            && (segment.messages >= options.segmentMessages || segment.bytes + bytes > options.segmentBytes
                || isOld(now: now, options))
    }

    func isOld(now: Duration, _ options: borrowing StoreOptions) -> Bool {
        !isEmpty && now - opened >= options.segmentAge
    }

    // MARK: Batches

    mutating func begin() {
        savepoint = Savepoint(segment: segment, opened: opened, entryCount: entries.count)
    }

    mutating func commit() {
        savepoint = nil
    }

    /// Restores the segment as it was before the batch.
    ///
    /// - Parameter names: The names. All names that the segment had before the batch must be in the table.
    mutating func rollBack(_ names: borrowing NameTable) {
        guard let savepoint else { return }
        self.savepoint = nil
        set(earlierEntries(savepoint), names)
        segment = savepoint.segment
        opened = savepoint.opened
    }

    /// The entries of the segment before the batch.
    private func earlierEntries(_ savepoint: Savepoint) -> [SegmentEntry] {
        if let earlier = savepoint.earlier { return earlier }
        var earlier = savepoint.entries ?? entries
        for (entry, bytes) in savepoint.added {
            earlier[Int(entry)].messages -= 1
            earlier[Int(entry)].bytes -= UInt64(bytes)
        }
        return Array(earlier.prefix(savepoint.entryCount))
    }

    private mutating func set(_ entries: [SegmentEntry], _ names: borrowing NameTable) {
        reset()
        for entry in entries {
            if let number = names.number(ofID: entry.name) { _ = append(entry, number.index) }
            if entry.isDamaged { appendDamaged(entry) }
        }
    }

    // MARK: Messages

    /// Adds a message.
    ///
    /// - Parameter now: The log's time.
    mutating func insert(
        _ sequence: UInt64, _ name: UInt32, number: NameTable.Number, uid: UInt32, time: UInt64, bytes: Int,
        now: Duration
    ) {
        if isEmpty { opened = now }
        segment.add(sequence, time: time, bytes: bytes)
        let entry = entry(of: name, number.index, uid)
        entries[Int(entry)].messages += 1
        entries[Int(entry)].bytes += UInt64(bytes)
        if savepoint != nil, savepoint?.entries == nil { savepoint?.added.append((entry, bytes)) }
    }

    /// Adds a damaged message, whose name is unknown.
    ///
    /// - Parameter now: The log's time.
    mutating func insertDamaged(_ sequence: UInt64, time: UInt64, now: Duration) {
        if isEmpty { opened = now }
        segment.add(sequence, time: time, bytes: 0)
        if !entries.contains(where: \.isDamaged) {
            appendDamaged(SegmentEntry(name: SegmentEntry.unknownName, uid: 0, messages: 0, bytes: 0))
        }
        if let entry = entries.firstIndex(where: \.isDamaged) { entries[entry].messages += 1 }
    }

    private mutating func appendDamaged(_ entry: SegmentEntry) {
        entries.append(entry)
        previousEntries.append(-1)
    }

    /// Replaces the entries. `entries` no longer count the messages that the batch has deleted. The bounds of the
    /// segment stay, unless no message is left.
    mutating func keep(_ entries: [SegmentEntry], _ names: borrowing NameTable) {
        var kept = segment
        kept.messages = entries.reduce(0) { $0 + Int($1.messages) }
        kept.bytes = entries.reduce(0) { $0 + Int($1.bytes) }
        if let savepoint, savepoint.entries == nil {
            let earlier = earlierEntries(savepoint)
            self.savepoint?.earlier = earlier
        }
        set(entries, names)
        if kept.messages > 0 { segment = kept }
    }

    /// Begins another, empty segment.
    mutating func reset() {
        if savepoint != nil, savepoint?.entries == nil { savepoint?.entries = entries }
        segment = Segment()
        entries = []
        previousEntries = []
        generation += 1
    }

    private mutating func entry(of name: UInt32, _ number: Int, _ uid: UInt32) -> Int32 {
        var entry = mark(of: number)
        while entry >= 0 {
            if entries[Int(entry)].uid == uid { return entry }
            entry = previousEntries[Int(entry)]
        }
        return append(SegmentEntry(name: name, uid: uid, messages: 0, bytes: 0), number)
    }

    private func mark(of number: Int) -> Int32 {
        guard number < marks.count, marks[number].generation == generation else { return -1 }
        return marks[number].entry
    }

    private mutating func append(_ entry: SegmentEntry, _ number: Int) -> Int32 {
        let previous = mark(of: number)
        if number >= marks.count {
            marks.append(contentsOf: repeatElement(Mark(), count: max(number + 1 - marks.count, marks.count, 64)))
        }
        marks[number] = Mark(generation: generation, entry: Int32(entries.count))
        entries.append(entry)
        previousEntries.append(previous)
        return Int32(entries.count) - 1
    }
}
