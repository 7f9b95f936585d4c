import NotifyWire

/// A closed segment as stored in the database.
struct SegmentRow {
    var segment: Segment
    /// The log's time at which the segment was closed. No message in it is newer.
    var closed: Duration
    /// The entries as encoded by ``SegmentEncoding``.
    var entries: [UInt8]

    /// The columns of a row, in the order in which `init` reads them.
    static let columns = "first, last, messages, bytes, earliest, latest, closed, entries, crc"

    init(segment: Segment, closed: Duration, entries: [UInt8]) {
        self.segment = segment
        self.closed = closed
        self.entries = entries
    }

    /// Reads the current row of a statement that selects ``columns``. Returns nil if the row is damaged.
    init?(_ row: PreparedStatement) {
        guard let messages = Int(exactly: row.integer(2)), let bytes = Int(exactly: row.integer(3)) else { return nil }
        segment = Segment(
            first: row.integer(0), last: row.integer(1), messages: messages, bytes: bytes, earliest: row.integer(4),
            latest: row.integer(5))
        closed = .microseconds(Int64(bitPattern: row.integer(6)))
        entries = row.blob(7)
        guard row.integer32(8) == checksum, segment.first <= segment.last, segment.last < Limits.sequenceEnd,
            StoredTime.isSound(row.integer(6)), areTotalsRight
        else { return nil }
    }

    /// An upper bound of the bytes of a segment, so that the sums of segments do not overflow.
    private static let maximumBytes: UInt64 = 1 << 36

    /// Whether the totals are possible, and equal the sums of the entries.
    private var areTotalsRight: Bool {
        withEntries { entries in
            var (messages, bytes): (UInt64, UInt64) = (0, 0)
            for entry in entries {
                messages += UInt64(entry.messages)
                guard entry.bytes <= Self.maximumBytes else { return false }
                bytes += entry.bytes
                guard bytes <= Self.maximumBytes else { return false }
            }
            return messages == segment.messages && bytes == segment.bytes
                && messages <= segment.last - segment.first + 1
        }
    }

    /// The row with other entries.
    func replacing(_ entries: [SegmentEntry]) -> SegmentRow {
        var row = self
        row.segment.messages = entries.reduce(0) { $0 + Int($1.messages) }
        row.segment.bytes = entries.reduce(0) { $0 + Int($1.bytes) }
        row.entries = SegmentEncoding.encode(entries)
        return row
    }

    /// Inserts the row.
    func write(with insert: PreparedStatement) throws {
        try insert.bind(1, segment.first)
        try insert.bind(2, segment.last)
        try insert.bind(3, Int64(segment.messages))
        try insert.bind(4, Int64(segment.bytes))
        try insert.bind(5, segment.earliest)
        try insert.bind(6, segment.latest)
        try insert.bind(7, closed.microseconds)
        try insert.bind(9, checksum)
        try entries.withUnsafeBytes { entries in
            defer { insert.clearBindings() }
            try insert.bindBlob(8, entries)
            try insert.run()
        }
    }

    var checksum: UInt32 {
        var checksum = Checksum()
        for number in [
            segment.first, segment.last, UInt64(segment.messages), UInt64(segment.bytes), segment.earliest,
            segment.latest, UInt64(bitPattern: closed.microseconds),
        ] {
            checksum.add(number)
        }
        entries.withUnsafeBytes { checksum.add($0) }
        return checksum.value
    }

    func withEntries<Result>(_ body: (SegmentEncoding.Reader) throws -> Result) rethrows -> Result {
        try entries.withUnsafeBytes { try body(SegmentEncoding.Reader($0)) }
    }
}

/// A name as stored in the database.
enum NameRow {
    /// The columns of a row, in the order in which ``id(in:)`` reads them. The second one is the name.
    static let columns = "id, name, crc"

    /// The id of the name in the current row; nil if the row is damaged.
    static func id(in row: PreparedStatement) -> UInt32? {
        guard let id = UInt32(exactly: row.integer(0)), id < .max, id != SegmentEntry.unknownName,
            checksum(id: id, row.bytes(1)) == row.integer32(2)
        else { return nil }
        return id
    }

    static func checksum(id: UInt32, _ name: UnsafeRawBufferPointer) -> UInt32 {
        var checksum = Checksum()
        checksum.add(UInt64(id))
        checksum.add(name)
        return checksum.value
    }
}
