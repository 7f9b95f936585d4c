import NIOCore
import NotifyLog
import NotifyWire

/// Reads one page: skips segments without a matching name, and scans the rows of the others.
///
/// All work is bounded (rows, bytes, segments, names matched), because commits wait while a page is read. Each page
/// advances by at least one row or one segment.
struct PageReader {
    let log: Log
    private let statements: Statements
    let request: PageRequest
    private let object: [UInt8]?
    private(set) var matchCache: FilterMatchCache

    private var block = LogBlock()
    private var damaged: [UInt64] = []
    /// The position: every sequence up to this one was read or skipped. In descending order, every sequence from this
    /// one on.
    var scannedThrough: UInt64
    private var rowsLeft: Int
    private var segmentsLeft: Int
    /// The bytes of segment entries that the page may still read.
    private var segmentBytesLeft = 1024 * 1024
    /// The most names in the cache: those before the page, and those that the page may match.
    private var matchLimit = 16 * 1024

    private static let recentNames = 64
    /// The names of recent rows. The index of a name is its id modulo the size of this array. A look-up in the table of
    /// names would take five times as long.
    private var recentNames: ContiguousArray<(id: UInt32, number: NameTable.Number?)> = ContiguousArray(
        repeating: (SegmentEntry.unknownName, nil), count: Self.recentNames)

    /// Whether the subscription receives none, some or all of the names of a segment.
    enum NameMatches {
        case none
        case some
        case all
    }

    init(_ request: PageRequest, matchCache: consuming FilterMatchCache, log: Log) throws(StorageFailure) {
        self.log = log
        self.request = request
        self.matchCache = matchCache
        statements = try log.openStatements()
        object = request.filter.object.map { Array($0.utf8) }
        scannedThrough = request.isDescending ? min(log.persistedThrough, request.through) + 1 : request.after
        rowsLeft = log.options.pageRows
        segmentsLeft = log.options.pageSegments
    }

    /// Reads the page. Returns the page and the cache, to which the newly matched names were added.
    consuming func read() throws -> (content: Page.Content, matchCache: FilterMatchCache) {
        let matched = matchCache.count
        matchLimit += matched
        block.frames.reserveCapacity(log.pageCaches.pageCapacity)
        if request.isDescending { try readDown() } else { try readToEnd() }
        log.pageCaches.note(
            bytes: block.frames.readableBytes, maximumBytes: log.options.pageBytes,
            namesMatched: matchCache.count - matched)
        var content = Page.Content(block: block, scannedThrough: scannedThrough, damaged: damaged)
        let isEnd = request.isDescending ? scannedThrough <= request.after + 1 : scannedThrough >= end
        content.deleted = log.deletions.missed(by: request, scanned: scannedThrough, isEnd: isEnd)
        content.deletionMark = log.deletions.mark
        if !request.copiesOf.isEmpty {
            content.reasons = try log.reasons(ofCopiesOf: request.after + 1, request.copiesOf)
        }
        return (content, matchCache)
    }

    private mutating func readToEnd() throws {
        guard scannedThrough < end else {
            scannedThrough = end
            return
        }
        guard request.maximumMessages > 0, try readClosedSegments() else { return }
        _ = try read(through: end, nameMatches(in: log.contents.openSegment.entries))
    }

    /// Reads the closed segments. Returns false if the page reaches a limit before the end of the last closed segment.
    private mutating func readClosedSegments() throws -> Bool {
        let segments = statements.segments.from
        defer { segments.reset() }
        try segments.bind(1, scannedThrough + 1)
        while scannedThrough < end, try segments.step() {
            // The first segment may end before the position.
            if segments.integer(1) <= scannedThrough { continue }
            guard hasSegmentsLeft else { return false }
            guard let row = SegmentRow(segments) else {
                throw Self.damaged("has a damaged segment at \(segments.integer(0))")
            }
            let matches = try examine(row)
            guard try read(through: min(row.segment.last, end), matches) else { return false }
        }
        return true
    }

    /// Whether the page may examine another segment.
    var hasSegmentsLeft: Bool { segmentsLeft > 0 && segmentBytesLeft > 0 && matchCache.count < matchLimit }

    mutating func examine(_ row: SegmentRow) throws -> NameMatches {
        segmentsLeft -= 1
        segmentBytesLeft -= row.entries.count
        return try row.withEntries { try nameMatches(in: $0) }
    }

    mutating func nameMatches(in entries: some Sequence<SegmentEntry>) throws(StorageFailure) -> NameMatches {
        var isWanted = false
        var isOther = false
        for entry in entries {
            // Every reader gets a gap in the place of damaged messages, because their names are unknown.
            if entry.isDamaged { return .some }
            if try isMatching(entry.name) { isWanted = true } else { isOther = true }
            if isWanted && isOther { return .some }
        }
        return isWanted ? .all : .none
    }

    private mutating func isMatching(_ name: UInt32) throws(StorageFailure) -> Bool {
        try matchCache.matches(number(ofID: name), in: log.contents.names)
    }

    /// Looks up the name of a row. In most cases a recent row had the same name.
    private mutating func number(of key: SegmentEntry.Key) -> NameTable.Number? {
        let index = Int(key.name) % Self.recentNames
        if recentNames[index].id == key.name { return recentNames[index].number }
        guard let number = log.contents.names.number(ofID: key.name) else { return nil }
        recentNames[index] = (key.name, number)
        return number
    }

    private func number(ofID name: UInt32) throws(StorageFailure) -> NameTable.Number {
        guard let number = log.contents.names.number(ofID: name) else {
            throw Self.damaged("refers to name \(name), which it does not have")
        }
        return number
    }

    /// Reads through the sequence `last`. Returns false if the page reaches a limit before it.
    private mutating func read(through last: UInt64, _ nameMatches: NameMatches) throws -> Bool {
        guard last > scannedThrough else { return true }
        guard hasRoom else { return false }
        switch nameMatches {
        case .none:
            log.pageCaches.work.segmentsSkipped += 1
            scannedThrough = last
            return true
        case .all where object == nil:
            return try readEveryRow(statements.messages.read, scannedThrough + 1, last, end: last)
        case .some, .all:
            return try readMatchingRows(statements.messages.scan, scannedThrough + 1, last, end: last)
        }
    }

    /// Reads from the position down to the sequence `first`. Returns false if the page reaches a limit before it.
    mutating func read(downTo first: UInt64, _ nameMatches: NameMatches) throws -> Bool {
        guard first < scannedThrough else { return true }
        guard hasRoom else { return false }
        switch nameMatches {
        case .none:
            log.pageCaches.work.segmentsSkipped += 1
            scannedThrough = first
            return true
        case .all where object == nil:
            return try readEveryRow(statements.messages.readDown, first, scannedThrough - 1, end: first)
        case .some, .all:
            return try readMatchingRows(statements.messages.scanDown, first, scannedThrough - 1, end: first)
        }
    }

    /// The last sequence to read.
    private var end: UInt64 { min(log.persistedThrough, request.through) }

    private var hasRoom: Bool { rowsLeft > 0 && block.entries.count < request.maximumMessages }

    private mutating func readEveryRow(
        _ rows: PreparedStatement, _ first: UInt64, _ last: UInt64, end: UInt64
    ) throws -> Bool {
        defer { rows.reset() }
        try rows.bind(1, first)
        try rows.bind(2, last)
        while hasRoom {
            guard try rows.step() else {
                scannedThrough = end
                return true
            }
            countRow()
            guard try take(rows) else { return false }
        }
        return false
    }

    /// Scans the keys and objects of rows first, and reads the other columns of matching rows only. One statement for
    /// all columns would also read the payloads of the other rows.
    private mutating func readMatchingRows(
        _ rows: PreparedStatement, _ first: UInt64, _ last: UInt64, end: UInt64
    ) throws -> Bool {
        defer { rows.reset() }
        try rows.bind(1, first)
        try rows.bind(2, last)
        while hasRoom {
            guard try rows.step() else {
                scannedThrough = end
                return true
            }
            countRow()
            let sequence = rows.integer(0)
            if MessageRow.isKeySound(rows), let name = number(of: MessageRow.key(rows)) {
                if matchCache.matches(name, in: log.contents.names),
                    object.map({ rows.bytes(2).elementsEqual($0) }) ?? true
                {
                    guard try takeMessage(sequence) else { return false }
                } else {
                    scannedThrough = sequence
                }
            } else {
                skipDamaged(sequence)
            }
        }
        return false
    }

    private mutating func takeMessage(_ sequence: UInt64) throws -> Bool {
        let row = statements.messages.readOne
        defer { row.reset() }
        try row.bind(1, sequence)
        guard try row.step() else { throw Self.damaged("lacks message \(sequence), which it lists") }
        return try take(row)
    }

    /// Appends the row's message to the page; returns false if it does not fit.
    private mutating func take(_ row: PreparedStatement) throws -> Bool {
        let sequence = row.integer(0)
        let key = MessageRow.key(row)
        guard let name = number(of: key) else { return skipDamaged(sequence) }
        return log.contents.names.withBytes(of: name) { name in
            guard let content = MessageRow.read(row, sequence: sequence, uid: key.uid, name: name) else {
                return skipDamaged(sequence)
            }
            return append(content)
        }
    }

    private mutating func append(_ content: MessageRow.Content) -> Bool {
        guard request.access.permitsOriginal(of: content.parts) else {
            scannedThrough = content.stamp.sequence
            return true
        }
        let offset = block.frames.writerIndex
        let length = FrameHeader.size + Delivery.fixedSize + content.parts.byteCount
        guard block.entries.isEmpty || offset + length <= log.options.pageBytes else { return false }
        guard MessageRow.append(content, to: &block.frames) else { return skipDamaged(content.stamp.sequence) }
        block.entries.append(
            LogBlock.Entry(sequence: content.stamp.sequence, offset: UInt32(offset), length: UInt32(length)))
        scannedThrough = content.stamp.sequence
        return true
    }

    /// Skips a damaged message. Returns true, because the page continues after it.
    @discardableResult
    private mutating func skipDamaged(_ sequence: UInt64) -> Bool {
        damaged.append(sequence)
        scannedThrough = sequence
        return true
    }

    private mutating func countRow() {
        rowsLeft -= 1
        log.pageCaches.work.rowsScanned += 1
    }

    private static func damaged(_ what: String) -> StorageFailure {
        StorageFailure(kind: .damaged, message: "it \(what)")
    }
}
