import NIOCore
import NotifyLog
import NotifyWire

/// The last stage of a ``LogScan``: reads the messages together with their segments, and compares the counts.
final class MessageScan {
    private struct Count: Equatable {
        var messages: UInt64 = 0
        var bytes: UInt64 = 0
    }

    private unowned let scan: LogScan
    private let messages: RowScan?
    private let segments: RowScan?
    private let through: UInt64
    /// The highest sequence read.
    private(set) var position: UInt64 = 0

    /// The segment that the scan has reached; nil after the last one.
    private var segment: SegmentRow?
    private var isAfterLastSegment = false
    private var counts: [SegmentEntry.Key: Count] = [:]
    /// The number of messages of the segment whose name and user are unknown, because they are damaged. They are not in
    /// `counts`.
    private var unknown: UInt64 = 0
    /// The number of damaged messages of the segment that are in `counts`, but without their size.
    private var unsized: UInt64 = 0
    /// The number of unreadable ranges before the segment.
    private var rangesBefore = 0
    /// The messages that belong to no sound segment.
    private var strays: (count: UInt64, first: UInt64, last: UInt64)?
    private var frame = ByteBuffer()

    init(_ scan: LogScan, through: UInt64) throws {
        self.scan = scan
        self.through = through
        segments = try scan.open(SegmentRow.columns, from: "segments", key: "first")
        messages = try scan.open(MessageRow.columns, from: "messages", key: "sequence")
        try nextSegment()
    }

    func pause() {
        messages?.pause()
        segments?.pause()
    }

    /// Reads one message. Returns false at the end.
    func readNext(_ names: borrowing NameTable) throws -> Bool {
        guard let row = try messages?.next(), row.integer(0) <= through else {
            while segment != nil { try endSegment() }
            reportStrays()
            noteUnreadable()
            return false
        }
        position = row.integer(0)
        while let last = segment?.segment.last, position > last { try endSegment() }
        try read(row, names)
        return true
    }

    private func read(_ row: PreparedStatement, _ names: borrowing NameTable) throws {
        let isSound = readFrame(row, names)
        let isKeySound = MessageRow.isKeySound(row)
        if isSound && isKeySound {
            scan.findings.messages += 1
        } else {
            scan.findings.addDamagedMessage(position)
        }
        if isSound {
            try scan.received(position, frame: frame)
        } else {
            scan.lost(position, name: isKeySound ? MessageRow.key(row).name : nil)
        }
        count(
            isKeySound ? MessageRow.key(row) : nil,
            bytes: isSound ? UInt64(frame.readableBytes) : nil)
    }

    /// Reads the message of the row as a frame. Returns false if it is not as it was posted.
    private func readFrame(_ row: PreparedStatement, _ names: borrowing NameTable) -> Bool {
        frame.clear()
        let key = MessageRow.key(row)
        guard let name = names.number(ofID: key.name) else { return false }
        return names.withBytes(of: name) { name in
            guard let content = MessageRow.read(row, sequence: position, uid: key.uid, name: name) else { return false }
            return MessageRow.append(content, to: &frame)
        }
    }

    // MARK: Segments

    /// Counts the message at ``position`` in its segment.
    ///
    /// - Parameters:
    ///   - key: The name and the user; nil if they are unknown, because the message is damaged.
    ///   - bytes: The size; nil if it is unknown.
    private func count(_ key: SegmentEntry.Key?, bytes: UInt64?) {
        guard let segment, segment.segment.first <= position else {
            if key != nil, !isAfterLastSegment { addStray() }
            return
        }
        guard let key else { return unknown += 1 }
        counts[key, default: Count()].messages += 1
        counts[key]?.bytes += bytes ?? 0
        if bytes == nil { unsized += 1 }
    }

    private func addStray() {
        let before = strays ?? (count: 0, first: position, last: position)
        strays = (before.count + 1, before.first, position)
    }

    private func nextSegment() throws {
        counts = [:]
        (unknown, unsized) = (0, 0)
        segment = nil
        rangesBefore = messages?.unreadable.count ?? 0
        while let row = try segments?.next() {
            guard let found = SegmentRow(row) else {
                scan.findings.add(.segment, "the segment that begins at \(row.integer(0)) is damaged")
                continue
            }
            scan.highest = max(scan.highest, found.segment.last)
            segment = found
            return
        }
        isAfterLastSegment = true
    }

    /// Compares the entries of the segment with the messages that were found.
    private func endSegment() throws {
        guard let row = segment else { return }
        if let problem = try problem(of: row) {
            scan.findings.add(.segment, "the segment from \(row.segment.first) to \(row.segment.last) \(problem)")
        } else {
            scan.findings.segments += 1
        }
        try nextSegment()
    }

    private func problem(of row: SegmentRow) throws -> String? {
        // Unreadable messages are reported themselves, so the segment is not compared.
        guard rangesBefore == messages?.unreadable.count, try !isReplaced(row) else { return nil }
        var missing: UInt64 = 0
        var left = counts
        for entry in row.withEntries({ Array($0) }) {
            let found = left.removeValue(forKey: entry.key) ?? Count()
            let isCountRight = found.messages == UInt64(entry.messages)
            if found.messages > entry.messages { return "counts fewer messages than it has" }
            if isCountRight, unknown == 0, unsized == 0, found.bytes != entry.bytes {
                return "counts a different number of bytes than it has"
            }
            missing += UInt64(entry.messages) - found.messages
        }
        guard left.isEmpty else { return "does not count some of its messages" }
        guard missing > unknown else { return nil }
        scan.missing(row.segment.first...row.segment.last, count: missing - unknown)
        return "lacks \(missing - unknown) messages that it counts"
    }

    /// Whether a segment of the open log was changed or deleted after its row was read.
    private func isReplaced(_ row: SegmentRow) throws -> Bool {
        guard scan.target == .openLog else { return false }
        let rows = try PreparedStatement(
            scan.connection, "SELECT \(SegmentRow.columns) FROM segments WHERE first = \(row.segment.first)")
        guard try rows.step(), let now = SegmentRow(rows) else { return true }
        return now.entries != row.entries
    }

    // MARK: The end

    private func reportStrays() {
        guard let strays else { return }
        scan.findings.add(
            .segment, "\(strays.count) messages from \(strays.first) to \(strays.last) are in no sound segment")
    }

    private func noteUnreadable() {
        for (scan, kind, what) in [
            (messages, .database, "messages"), (segments, .segment, "segments that begin"),
        ] as [(RowScan?, LogPart, String)] {
            if let scan { self.scan.noteUnreadable(kind, what, in: scan) }
        }
        for range in messages.map(\.unreadable) ?? [0 ... .max] { scan.unreadable(range) }
    }
}
