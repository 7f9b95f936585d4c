/// Counters of the store since it was opened, and the current size of the log.
package struct StoreStatistics: Equatable, Sendable {
    package var commits: UInt64 = 0
    /// Commits that were flushed to disk (fsync) before their outcome was reported.
    package var syncs: UInt64 = 0
    package var pagesRead: UInt64 = 0
    package var logMessages: UInt64 = 0
    /// The size of the database file.
    package var logBytes: UInt64 = 0
    /// The size of SQLite's write-ahead log.
    package var walBytes: UInt64 = 0

    package init() {}
}
