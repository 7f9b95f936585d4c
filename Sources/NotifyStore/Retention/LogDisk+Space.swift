import NotifyLog

/// Returning the space of deleted messages to the file system, in slices between commits.
extension LogDisk {
    /// The free pages that stay for the next messages, besides an eighth of the used ones: 2 MiB.
    private static let spareBytes: UInt64 = 2 << 20

    /// The size in bytes that the file of the write-ahead log keeps, because writing over it is faster than allocating
    /// it again: 64 MiB, or an eighth of a smaller limit of the log.
    var walByteLimit: UInt64 { min(64 << 20, (retention.maximumBytes ?? .max) / 8) }

    /// Whether the database or the write-ahead log is larger than it must be.
    mutating func isTooLarge() -> Bool {
        guard let pages = try? countPages() else { return false }
        measureSizes()
        return hasSurplus(pages) || isFileTooLarge(pages)
    }

    /// Whether so many pages are free that some are returned.
    func hasSurplus() throws -> Bool { hasSurplus(try countPages()) }

    private func hasSurplus(_ pages: Pages) -> Bool {
        let used = pages.all - min(pages.free, pages.all)
        return pages.free * UInt64(Schema.pageSize) > used * UInt64(Schema.pageSize) / 8 + Self.spareBytes
    }

    /// Whether a checkpoint makes one of the files smaller.
    private func isFileTooLarge(_ pages: Pages) -> Bool {
        sizes.wal > walByteLimit || sizes.database > pages.all * UInt64(Schema.pageSize) + Self.spareBytes
    }

    /// Lets the files shrink if they are larger than their pages.
    mutating func shrinkFiles() throws {
        let pages = try countPages()
        measureSizes()
        if isFileTooLarge(pages) { try checkpoints.run(.truncate) }
    }
}

extension Log {
    /// The most free pages that one transaction removes.
    private static let pagesPerTransaction = 128

    /// Returns free pages to the file system while more are free than the next messages are likely to need, and lets
    /// the files shrink at the end.
    ///
    /// - Returns: Whether work remains.
    func returnSpace() throws -> Bool {
        guard try disk.hasSurplus() else {
            try disk.shrinkFiles()
            return false
        }
        try disk.checkpoints.repairIfNeeded()
        // Nothing is lost if a power loss undoes this.
        try database.set(.normal)
        try disk.removeFreePages(limit: Self.pagesPerTransaction)
        return true
    }

    /// Reports the sizes of the files with the next deletion if they have changed, at most once per second while they
    /// change.
    func reportSizes(isFinal: Bool) {
        guard report.areSizesDue(isFinal: isFinal) else { return }
        disk.measure()
        if report.note(disk.sizes) { report.deletion.statistics = statistics }
    }
}
