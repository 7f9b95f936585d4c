import NotifyWire

/// A row of the database with the deletions of one transaction, or with sums of older deletions. ``DeletionLog`` sums
/// deletions up when there are too many.
struct DeletionRow: Equatable {
    /// The columns of a row, in the order in which `init` reads them.
    ///
    /// - `mark`: the number of the transaction, which ascends (see ``DeletionLog/mark``)
    /// - `parts`: the deletions, encoded; empty in a row that only keeps the mark
    static let columns = "mark, parts, crc"
    static let insert = "INSERT OR REPLACE INTO deletions VALUES (?, coalesce(?, x''), ?)"

    /// The most deletions in one row of the table.
    static let maximumEvents = 2_048
    /// The most bytes of the deletions of one transaction, so that the row fits in a page of the database.
    static let maximumBytes = 4_000
    /// The highest mark that an undamaged row can have. Marks begin at the log's time in microseconds when it is
    /// opened, at least 2 (see ``DeletionLog/mark``), and stay far below this.
    private static let highestMark: UInt64 = 1 << 56

    let mark: UInt64
    /// The deletions. All have the mark of the row.
    let events: [DeletionLog.Event]
    private let parts: [UInt8]

    /// - Parameter events: The deletions, at most ``maximumEvents`` of them.
    init(mark: UInt64, events: [DeletionLog.Event]) {
        self.mark = mark
        self.events = events.map { $0.marked(mark) }
        parts = Self.encode(events)
    }

    /// The row of a transaction. If the deletions have more names than fit in the row, the deletions with the fewest
    /// messages are summed up.
    init(mark: UInt64, fitting events: [DeletionLog.Event]) {
        let base = events.map(\.first).min() ?? 0
        let isFitting = events.reduce(Varint.byteCount(base)) { $0 + Self.byteCount($1, base) } <= Self.maximumBytes
        self.init(mark: mark, events: isFitting ? events : Self.reduce(events, base))
    }

    /// Reads the current row of a statement that selects ``columns``. Returns nil if the row is damaged.
    init?(_ row: PreparedStatement) {
        let (mark, parts) = (row.integer(0), row.blob(1))
        guard (2...Self.highestMark).contains(mark), let events = Self.decode(parts) else { return nil }
        self.mark = mark
        self.events = events.map { $0.marked(mark) }
        self.parts = parts
        guard row.integer(2) == UInt64(checksum) else { return nil }
    }

    /// Inserts the row.
    func write(with insert: PreparedStatement) throws {
        defer { insert.clearBindings() }
        try insert.bind(1, mark)
        try insert.bind(3, checksum)
        try parts.withUnsafeBytes { parts in
            try insert.bindBlob(2, parts)
            try insert.run()
        }
    }

    private var checksum: UInt32 {
        var checksum = Checksum()
        checksum.add(mark)
        parts.withUnsafeBytes { checksum.add($0) }
        return checksum.value
    }

    // MARK: Fitting

    /// Sums up deletions with the fewest messages, so that all fit in a row.
    private static func reduce(_ events: [DeletionLog.Event], _ base: UInt64) -> [DeletionLog.Event] {
        let sorted = events.sorted { $0.count > $1.count }
        var left = maximumBytes - Varint.byteCount(base) - byteCount(.init(first: base, last: .max, count: .max), base)
        let kept = sorted.prefix { event in
            left -= byteCount(event, base)
            return left >= 0
        }
        guard var rest = sorted.dropFirst(kept.count).first else { return sorted }
        rest.name = nil
        for event in sorted.dropFirst(kept.count + 1) { rest.add(event) }
        return kept + [rest]
    }

    // MARK: Encoding

    /// Encodes the lowest sequence, and then each deletion: the length of its name combined with whether it is a sum,
    /// the name, the distance of its first sequence from the lowest one, the length of its range minus one, and the
    /// number of messages. All numbers are varints. For an unknown name 0 is stored as the length, otherwise the length
    /// plus 1.
    private static func encode(_ events: [DeletionLog.Event]) -> [UInt8] {
        guard let base = events.map(\.first).min() else { return [] }
        var bytes: [UInt8] = []
        Varint.append(base, to: &bytes)
        for event in events {
            Varint.append(header(of: event), to: &bytes)
            bytes += event.name ?? []
            Varint.append(event.first - base, to: &bytes)
            Varint.append(event.last - event.first, to: &bytes)
            Varint.append(event.count, to: &bytes)
        }
        return bytes
    }

    private static func header(of event: DeletionLog.Event) -> UInt64 {
        UInt64(event.name.map { $0.count + 1 } ?? 0) << 1 | (event.isSum ? 1 : 0)
    }

    private static func byteCount(_ event: DeletionLog.Event, _ base: UInt64) -> Int {
        [header(of: event), event.first - base, event.last - event.first, event.count].reduce(event.name?.count ?? 0) {
            $0 + Varint.byteCount($1)
        }
    }

    /// Decodes deletions. Returns nil if the bytes are malformed, or contain numbers that no log has.
    private static func decode(_ bytes: [UInt8]) -> [DeletionLog.Event]? {
        bytes.withUnsafeBytes { bytes in
            var events: [DeletionLog.Event] = []
            var reader = Varint.Reader(bytes)
            guard !reader.isAtEnd else { return events }
            guard let base = reader.next(), base < Limits.sequenceEnd else { return nil }
            while !reader.isAtEnd {
                guard events.count < maximumEvents, let event = event(from: &reader, base) else { return nil }
                events.append(event)
            }
            return events
        }
    }

    private static func event(from reader: inout Varint.Reader, _ base: UInt64) -> DeletionLog.Event? {
        guard let header = reader.next() else { return nil }
        var name: [UInt8]?
        if header > 1 {
            guard let bytes = reader.next(bytes: header >> 1 - 1), (1...Limits.nameBytes).contains(bytes.count) else {
                return nil
            }
            name = Array(bytes)
        }
        guard let distance = reader.next(), let length = reader.next(), let count = reader.next(),
            max(distance, length) < Limits.sequenceEnd
        else { return nil }
        let event = DeletionLog.Event(
            name: name, first: base + distance, last: base + distance + length, count: count, isSum: header & 1 == 1)
        return event.isPossible ? event : nil
    }
}
