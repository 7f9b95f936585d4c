/// Counters of the store since it was opened, and the current sizes of the log and of its disk.
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

    /// The bytes that count towards the limit of the log: the used pages of the database, and the write-ahead log.
    /// Measured at most once per second, and only if there is a limit.
    package var usedBytes: UInt64 = 0
    /// The limit of ``usedBytes``; nil if there is none.
    package var logByteLimit: UInt64?
    /// The bytes that the durable subscriptions of a user hold back, as of the last pass of retention. Only users that
    /// have reached half of ``backlogLimit`` are included.
    package var backlogs: [UInt32: UInt64] = [:]
    /// The limit of the bytes that the subscriptions of a user may hold back; nil if there is none.
    package var backlogLimit: UInt64?
    /// The time without a client after which a durable subscription is removed; nil if subscriptions are kept.
    package var subscriptionExpiry: Duration?
    /// The file system of the database, measured at most once per second; nil if it can't be read.
    package var disk: Disk?

    package struct Disk: Equatable, Sendable {
        package var freeBytes: UInt64
        package var totalBytes: UInt64
        package var isNearlyFull: Bool

        package init(freeBytes: UInt64, totalBytes: UInt64, isNearlyFull: Bool) {
            self.freeBytes = freeBytes
            self.totalBytes = totalBytes
            self.isNearlyFull = isNearlyFull
        }
    }

    package init() {}
}
