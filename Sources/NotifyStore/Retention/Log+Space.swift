import Glibc
import NotifyLog

/// Returning the space of deleted messages to the file system, in slices between commits.
extension Log {
    /// The most free pages that one transaction removes.
    private static let pagesPerTransaction = 128
    /// The free pages that stay for the next messages, besides an eighth of the used ones: 2 MiB.
    private static let spareBytes: UInt64 = 2 << 20
    /// The shortest time between two reports of the sizes of the files.
    private static let reportInterval = Duration.seconds(1)

    /// The size in bytes that the file of the write-ahead log keeps, because writing over it is faster than allocating
    /// it again: 64 MiB, or an eighth of a smaller limit of the log.
    var walByteLimit: UInt64 { min(64 << 20, (options.retention.maximumBytes ?? .max) / 8) }

    /// Whether the database or the write-ahead log is larger than it must be.
    var isSpaceDue: Bool {
        guard damage == nil, corruption == nil, refusedBatch == nil, let pages = try? countPages() else { return false }
        measureSizes()
        return hasSurplus(pages) || isFileTooLarge(pages)
    }

    private typealias Pages = (all: UInt64, free: UInt64)

    private func countPages() throws -> Pages {
        let statements = try openStatements()
        return try (statements.pageCount.number(), statements.freePages.number())
    }

    /// Whether so many pages are free that some are returned.
    private func hasSurplus(_ pages: Pages) -> Bool {
        let used = pages.all - min(pages.free, pages.all)
        return pages.free * UInt64(Schema.pageSize) > used * UInt64(Schema.pageSize) / 8 + Self.spareBytes
    }

    /// Whether a checkpoint makes one of the files smaller.
    private func isFileTooLarge(_ pages: Pages) -> Bool {
        statistics.walBytes > walByteLimit
            || statistics.logBytes > pages.all * UInt64(Schema.pageSize) + Self.spareBytes
    }

    /// Returns free pages to the file system while more are free than the next messages are likely to need, and lets
    /// the files shrink at the end.
    ///
    /// - Returns: Whether work remains.
    func returnSpace() throws -> Bool {
        let pages = try countPages()
        if hasSurplus(pages) {
            try checkpoints.repairIfNeeded()
            // Nothing is lost if a power loss undoes this.
            try set(.normal)
            try removeFreePages(limit: Self.pagesPerTransaction)
            return true
        }
        measureSizes()
        if isFileTooLarge(pages) { try checkpoints.run(.truncate) }
        return false
    }

    /// Removes free pages from the database. A limit of 0 removes all.
    func removeFreePages(limit: Int) throws {
        try connection.execute("PRAGMA incremental_vacuum(\(limit))")
        files.databaseShrinks(to: UInt64(try connection.integer("PRAGMA page_count")) * UInt64(Schema.pageSize))
    }

    // MARK: Sizes

    /// Updates the sizes of the files in the statistics. Reads the sizes by path: opening and closing a file would
    /// release SQLite's locks.
    func measureSizes() {
        var status = stat()
        statistics.logBytes = stat(path, &status) == 0 ? UInt64(status.st_size) : 0
        statistics.walBytes = stat(path + "-wal", &status) == 0 ? UInt64(status.st_size) : 0
    }

    /// Reports the sizes of the files with the next deletion if they have changed, at most once per second while they
    /// change.
    func reportSizes(isFinal: Bool) {
        let now = ContinuousClock.now
        guard isFinal || sizesReported.map({ now - $0 >= Self.reportInterval }) ?? true else { return }
        let before = reportedSizes
        measureSizes()
        measureDisk()
        reportedSizes = (statistics.logBytes, statistics.walBytes)
        sizesReported = now
        if reportedSizes != before { deletion.statistics = statistics }
    }
}
