/// Counters of the store since it was opened, and the present size of the log.
package struct StoreStatistics: Equatable, Sendable {
    package var commits: UInt64 = 0
    /// Commits that were flushed to disk before their outcome was told.
    package var syncs: UInt64 = 0
    package var pagesRead: UInt64 = 0
    package var logMessages: UInt64 = 0
    /// Of the database file.
    package var logBytes: UInt64 = 0
    /// Of the write-ahead log beside it.
    package var walBytes: UInt64 = 0

    package init() {}
}
