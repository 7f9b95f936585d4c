import CSQLite

/// Neighboring writes to a file that are written together.
struct GatheredWrites: ~Copyable {
    /// Writes bytes to the file at an offset. Returns SQLite's result code.
    typealias Write = (UnsafeRawBufferPointer, Int64) -> Int32

    /// The maximum number of bytes that are gathered. SQLite's own VFS fails to write 128 KiB at once.
    static let capacity = 64 << 10
    /// The size of the header of a frame in a write-ahead log.
    private static let frameHeaderBytes = 24

    /// Whether the file is a write-ahead log. Its writes are not gathered beyond the end of a transaction.
    private let isLog: Bool
    private var bytes: UnsafeMutableRawPointer?
    private(set) var count = 0
    private var offset: Int64 = 0
    /// Whether the last write was the header of a transaction's last frame. The page of the frame follows.
    private var isLastFrame = false
    /// The end of the furthest write since the write-ahead log last began at its start.
    private var furthestEnd: Int64 = 0

    init(isLog: Bool) {
        self.isLog = isLog
    }

    deinit { bytes?.deallocate() }

    /// The offset after the last gathered byte.
    var end: Int64 { offset + Int64(count) }

    func overlaps(_ range: Range<Int64>) -> Bool { count > 0 && range.lowerBound < end && range.upperBound > offset }

    /// Adds a write.
    ///
    /// - Returns: SQLite's result code. If a transaction ends with this write, its bytes were written.
    mutating func add(_ new: UnsafeRawBufferPointer, at start: Int64, _ write: Write) -> Int32 {
        let isRewrite = isLog && start > 0 && start < furthestEnd
        if isLog { furthestEnd = start == 0 ? Int64(new.count) : max(furthestEnd, start + Int64(new.count)) }
        if count > 0, start != end || count + new.count > Self.capacity {
            let code = flush(write)
            guard code == SQLITE_OK else { return code }
        }
        // If SQLite has changed a page of an earlier frame of the transaction, it writes headers alone after the
        // last frame, and the last of them ends the transaction.
        if isRewrite {
            isLastFrame = Self.isHeaderOfLastFrame(new)
            return write(new, start)
        }
        let endsTransaction = isLastFrame
        isLastFrame = isLog && Self.isHeaderOfLastFrame(new)
        guard new.count <= Self.capacity else { return write(new, start) }
        if count == 0 { offset = start }
        let bytes = bytes ?? .allocate(byteCount: Self.capacity, alignment: 16)
        self.bytes = bytes
        UnsafeMutableRawBufferPointer(start: bytes + count, count: new.count).copyMemory(from: new)
        count += new.count
        return endsTransaction ? flush(write) : SQLITE_OK
    }

    /// Writes the gathered bytes.
    ///
    /// After a failure, a database keeps them, so that no reader finds the bytes before them in the file. A write-ahead
    /// log drops them: they belong to a transaction that fails, and nothing refers to them.
    mutating func flush(_ write: Write) -> Int32 {
        guard count > 0, let bytes else { return SQLITE_OK }
        let code = write(UnsafeRawBufferPointer(start: bytes, count: count), offset)
        if code == SQLITE_OK || isLog { count = 0 }
        if code != SQLITE_OK { furthestEnd = min(furthestEnd, offset) }
        return code
    }

    /// Frees the memory, if no bytes are gathered.
    mutating func releaseMemory() {
        guard count == 0 else { return }
        bytes?.deallocate()
        bytes = nil
    }

    /// Whether bytes are the header of a frame that ends a transaction. Such a header contains the size of the database
    /// in pages (https://www.sqlite.org/fileformat2.html#the_write_ahead_log), other headers contain 0.
    private static func isHeaderOfLastFrame(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count == frameHeaderBytes && bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self) != 0
    }
}
