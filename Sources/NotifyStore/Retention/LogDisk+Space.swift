import NotifyLog

/// Returning the space of deleted messages to the file system, in slices between commits.
extension LogDisk {
    /// The bytes of free pages that stay for the next messages, in addition to an eighth of the used bytes.
    private static let spareBytes: UInt64 = 2 << 20

    /// The size in bytes that the file of the write-ahead log keeps when it is truncated, because writing over it is
    /// faster than allocating it again: an eighth of the log's limit, at most 64 MiB.
    var walByteLimit: UInt64 { min(64 << 20, (retention.maximumBytes ?? .max) / 8) }

    /// Whether the database or the write-ahead log is larger than necessary.
    mutating func isTooLarge() -> Bool {
        guard let pages = try? countPages() else { return false }
        measureSizes()
        return hasSurplus(pages) || isFileTooLarge(pages)
    }

    /// Whether more pages are free than the next messages are likely to need.
    func hasSurplus() throws -> Bool { hasSurplus(try countPages()) }

    private func hasSurplus(_ pages: Pages) -> Bool {
        let used = pages.all - min(pages.free, pages.all)
        return pages.free * UInt64(Schema.pageSize) > used * UInt64(Schema.pageSize) / 8 + Self.spareBytes
    }

    /// Whether a checkpoint would make one of the files smaller.
    private func isFileTooLarge(_ pages: Pages) -> Bool {
        sizes.wal > walByteLimit || sizes.database > pages.all * UInt64(Schema.pageSize) + Self.spareBytes
    }

    /// Runs a checkpoint if it would make one of the files smaller.
    mutating func shrinkFiles() throws {
        let pages = try countPages()
        measureSizes()
        if isFileTooLarge(pages) { try checkpoints.run(.truncate) }
    }
}

extension Log {
    /// The most free pages that one transaction removes.
    private static let pagesPerTransaction = 128

    /// Returns some free pages to the file system while more are free than the next messages are likely to need. At the
    /// end, shrinks the files.
    ///
    /// - Returns: Whether work remains.
    func returnSpace() throws -> Bool {
        guard try disk.hasSurplus() else {
            try disk.shrinkFiles()
            return false
        }
        try disk.checkpoints.repairIfNeeded()
        // No flush is needed, because nothing is lost if a power loss undoes this transaction.
        try database.set(.normal)
        try disk.removeFreePages(limit: Self.pagesPerTransaction)
        return true
    }

    /// Adds the sizes of the files to the report of deletions if the sizes have changed. Measures them at most once per
    /// second, and once more at the end of a pass.
    func reportSizes(isFinal: Bool) {
        guard report.areSizesDue(isFinal: isFinal) else { return }
        disk.measure()
        if report.note(disk.sizes) { report.deletion.statistics = statistics }
    }
}
