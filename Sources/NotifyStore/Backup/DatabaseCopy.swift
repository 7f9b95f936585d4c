import CSQLite
import NotifySystem
import SystemPackage

/// Copies the open database in steps. The database may change between the steps: changes through the same connection
/// are also made in the pages that SQLite has already copied.
final class DatabaseCopy {
    private static let pagesPerStep: Int32 = 32
    /// The most restarts of the copy. SQLite restarts it after the rollback of a transaction that has written pages.
    private static let maximumRestarts = 100

    private let file: DatabaseFile
    private let target: DatabaseConnection
    /// Nil once the copy is complete or has failed.
    private var handle: OpaquePointer?
    private var copied: Int32 = 0
    private var restarts = 0

    /// Begins to copy to a new file, which is removed when this object is released. The source must stay open until
    /// then.
    init(of source: DatabaseConnection, to path: String) throws {
        file = DatabaseFile(path: path)
        file.remove()
        try file.create()
        do {
            target = try DatabaseConnection(path: path)
            // The copy needs neither a journal on disk nor flushes, because it is useless after a crash.
            try target.execute(
                "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF")
            handle = sqlite3_backup_init(target.handle, "main", source.handle, "main")
            guard handle != nil else { throw SQLiteFailure(target.handle) }
        } catch {
            file.remove()
            throw error
        }
    }

    deinit {
        if let handle { sqlite3_backup_finish(handle) }
        target.close()
        file.remove()
    }

    /// Copies until `end`.
    ///
    /// - Returns: Whether the copy is complete.
    func copy(until end: ContinuousClock.Instant) throws -> Bool {
        while let handle {
            switch sqlite3_backup_step(handle, Self.pagesPerStep) {
            case SQLITE_DONE: try finishCopying()
            case SQLITE_OK:
                try countRestarts(copied: sqlite3_backup_pagecount(handle) - sqlite3_backup_remaining(handle))
            default:
                // SQLite reports the error of a step only at the end.
                try finishCopying()
                throw SQLiteFailure(target.handle)
            }
            guard ContinuousClock.now < end else { break }
        }
        return handle == nil
    }

    private func finishCopying() throws {
        let finished = handle
        handle = nil
        guard sqlite3_backup_finish(finished) == SQLITE_OK else { throw SQLiteFailure(target.handle) }
    }

    /// Counts a restart if the number of copied pages has not risen: each step raises it, unless SQLite has restarted
    /// the copy.
    private func countRestarts(copied now: Int32) throws {
        if now <= copied { restarts += 1 }
        copied = now
        guard restarts <= Self.maximumRestarts else {
            throw StoreError(.inputOutput, "commits fail again and again: correct the storage first")
        }
    }

    /// Completes the copy: changes its state, makes it a database without a write-ahead log, opens it for reading, and
    /// removes its path.
    func finish(_ change: (inout StateRow) -> Void) throws -> OwnedDescriptor {
        // Reading opens the write-ahead log. The next statement then removes the file of the write-ahead log.
        _ = try StateRow(in: target)
        guard try target.text("PRAGMA journal_mode = MEMORY") == "memory" else { throw SQLiteFailure(target.handle) }
        var state = try StateRow(in: target)
        change(&state)
        try state.write(with: PreparedStatement(target, StateRow.update))
        target.close()
        let descriptor = try OwnedDescriptor.open(file.path, .readOnly, options: .noFollow)
        file.remove()
        return descriptor
    }
}
