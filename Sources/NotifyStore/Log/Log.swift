import NotifyLog
import NotifySystem
import NotifyWire

/// An open log: its parts, each with its own state, and the operations that need several of them.
///
/// Most parts are not copyable: copying a part before a call took more instructions than the call itself.
final class Log {
    var options: StoreOptions {
        didSet { disk.setLimits(options.retention) }
    }
    /// The connection, the statements and the state row.
    var database: LogDatabase
    /// The files and the room for them.
    var disk: LogDisk
    /// The names, the open segment and the last sequence.
    var contents = LogContents()
    /// The effects of the batch that is being written.
    var writer = BatchWriter()
    /// The caches and counters that are kept between reads of pages.
    var pageCaches = PageCaches()
    /// The time of the log.
    var clock: LogClock
    var subscriptions = StoredSubscriptions()
    /// The changes of values that are not in the rows of the values yet.
    var values = UnappliedValues()
    /// The last sequence that may have been lost with the power before this start: clients may have read changes of values
    /// up to it that the log does not contain. 0 if power was not lost.
    var lostThrough: UInt64 = 0
    /// The deletions, for readers.
    var deletions = DeletionLog()
    var retention = RetentionPasses()
    /// The deletions that are not yet reported.
    var report = DeletionReport()

    init(connection: DatabaseConnection, path: String, options: StoreOptions) throws {
        clock = LogClock(options.clock)
        self.options = options
        database = try LogDatabase(connection)
        disk = try LogDisk(connection, path: path, options)
    }

    deinit {
        close()
    }

    func close() {
        database.finalizeStatements()
        disk.finalizeStatements()
        // The files were moved, replaced or truncated. A normal close would run a checkpoint, and remove a write-ahead
        // log that may belong to another database.
        if disk.damage != nil { connection.keepFilesOnClose() }
        connection.close()
    }

    var connection: DatabaseConnection { database.connection }
    var path: String { disk.path }
    /// The highest sequence committed.
    var persistedThrough: UInt64 { contents.persistedThrough }

    func openStatements() throws(StorageFailure) -> Statements { try database.openStatements() }

    var statistics: StoreStatistics {
        var statistics = StoreStatistics()
        writer.report(in: &statistics)
        disk.report(in: &statistics)
        statistics.pagesRead = pageCaches.pagesRead
        statistics.logMessages = contents.messages
        statistics.backlogs = retention.backlogs
        statistics.backlogLimit = options.retention.backlogBytes
        statistics.subscriptionExpiry = options.retention.subscriptionExpiry
        return statistics
    }

    /// Converts an error within the log to the error for the caller.
    func failure(_ error: any Error) -> StorageFailure {
        let failure =
            switch error {
            case let failure as StorageFailure: failure
            case let failure as SQLiteFailure where failure.isFull: disk.diskFull
            case let failure as SQLiteFailure: failure.storageFailure
            case let error as StoreError: error.storageFailure
            default: StorageFailure(kind: .inputOutput, message: String(describing: error))
            }
        return failure.kind == .damaged ? noteCorruption(failure) : failure
    }

    /// Makes later commits fail, unless the cause is that the files were moved, replaced or truncated.
    private func noteCorruption(_ failure: StorageFailure) -> StorageFailure {
        if let damage = disk.findDamage() { return damage.storageFailure }
        return database.note(StorageFailure(damaged: path, failure.message))
    }

    /// Whether a request may change the log: no damage of the files or the content is known, and no refused batch must
    /// still be removed.
    var isSound: Bool { disk.damage == nil && database.corruption == nil && writer.refusedBatch == nil }
}
