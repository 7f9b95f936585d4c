import Glibc
import NotifyLog
import NotifySystem
import NotifyWire
import SystemPackage

/// The result of ``Store/restore(_:to:)``.
package struct RestoredLog: Sendable {
    package var messages: UInt64
    package var subscriptions: Int
    package var nextSequence: UInt64
    /// The new path of the replaced database; nil if there was none.
    package var keptPath: String?
    /// The reason why the replaced database can't be read; nil if it can be read.
    package var unreadable: String?
}

extension Store {
    /// Replaces the log at `path`, which must not be open, by a backup. Blocks.
    ///
    /// The backup is copied and checked as a whole first, so that an error or the end of the process leaves the log
    /// unchanged. Sequences continue above all sequences that the backup's log and the replaced log are known to have
    /// used.
    ///
    /// - Throws: A `StoreError` that says how to fix the problem.
    package static func restore(_ backup: borrowing BackupSource, to path: String) throws(StoreError) -> RestoredLog {
        let path = path.hasPrefix("/") ? path : "./" + path
        let lock: FileLock
        do throws(FileLock.Failure) {
            lock = try FileLock(guarding: path)
        } catch {
            throw StoreError(locking: path, error)
        }
        let restore = LogRestore(path: path)
        do {
            return try restore.run(backup, holding: lock)
        } catch {
            throw restore.describe(error, restoring: backup.path)
        }
    }
}

/// The replacement of a log by a backup.
private struct LogRestore {
    let path: String
    /// The checked copy of the backup.
    let copy: DatabaseFile

    init(path: String) {
        self.path = path
        copy = DatabaseFile(path: path + ".restore")
    }

    func run(_ backup: borrowing BackupSource, holding lock: borrowing FileLock) throws -> RestoredLog {
        guard !backup.isFile(at: path) else {
            throw StoreError(.inUse, "'\(backup.path)' is the database that it would replace")
        }
        CurrentLog.removeLeftovers(beside: path)
        defer { copy.remove() }
        try makeCopy(of: backup)
        let (log, recovered) = try openCopy()
        defer { log.close() }
        let replaced = try readReplaced()
        let next = max(recovered.nextSequence, replaced.firstUnused(for: log.database.state))
        guard next < Limits.sequenceEnd else { throw StoreError(.damaged, "the next sequence \(next) is out of range") }
        try log.renew(nextSequence: next, recovered.subscriptions, replacing: replaced.deletionMark)
        log.close()
        let kept = try exchange()
        for mark in replaced.marks { mark.remove() }
        return RestoredLog(
            messages: log.statistics.logMessages, subscriptions: recovered.subscriptions.count, nextSequence: next,
            keptPath: kept, unreadable: replaced.unreadable)
    }

    // MARK: The backup

    private func makeCopy(of backup: borrowing BackupSource) throws(StoreError) {
        do throws(Errno) {
            try backup.copy(to: copy.path)
        } catch {
            let isFull = [.noSpace, .diskQuotaExceeded].contains(error)
            throw StoreError(
                isFull ? .full : .notAccessible,
                "'\(backup.path)' can't be copied to '\(copy.path)': \(AccessProblem.describe(error, opening: path))")
        }
    }

    private func openCopy() throws(StoreError) -> (Log, RecoveredLog) {
        guard copy.isLog else { throw StoreError(.notADatabase, "it is not a backup of notifyd") }
        let findings = try FileCheck.run(path: copy.path).findings
        guard findings.isSound else { throw StoreError(.damaged, findings.firstProblem) }
        let opened = try Log.open(at: copy.path, StoreOptions(), isForeign: true)
        opened.mark?.remove()
        return (opened.log, opened.recovered)
    }

    /// Describes an error. The code `damaged` concerns the backup, because damage of the replaced log is not an error,
    /// except that its next sequence may be out of range.
    func describe(_ error: any Error, restoring file: String) -> StoreError {
        let error = StoreError(opening: file, error)
        let message = (error.code == .damaged ? "it is damaged: " : "") + error.message
        return StoreError(
            error.code, "nothing was restored from '\(file)': \(message.replacing(copy.path, with: file))")
    }

    // MARK: The replaced log

    /// The state that the restored log takes over from the replaced one.
    private struct Replaced {
        /// Nil if the log can't be read.
        var logID: [UInt8]?
        var nextSequence: UInt64 = 0
        /// The mark of the last deletion. See ``DeletionLog/mark``.
        var deletionMark: UInt64 = 0
        /// The reason why the log can't be read; nil if it can be read.
        var unreadable: String?
        /// The `SequenceMark`s (shared memory) that are obsolete once the log is replaced.
        var marks: [SequenceMark] = []

        /// The lowest sequence that neither the backup's log nor the replaced log is known to have used; if the
        /// replaced log can't be read, 2^40 above that.
        func firstUnused(for backup: StateRow) -> UInt64 {
            // The backup is of the replaced log, so the next sequence of the replaced log is above the sequences of the
            // backup, too.
            if logID == backup.logID { return nextSequence }
            let used = max(nextSequence, backup.reservedThrough)
            return unreadable == nil ? used : used + CurrentLog.skippedSequences
        }
    }

    /// Reads which sequences the log to be replaced has used. Opening and closing the log also moves its write-ahead
    /// log into the file.
    ///
    /// - Throws: `StoreError` for a file that must not be replaced, such as another program's database.
    private func readReplaced() throws(StoreError) -> Replaced {
        var replaced = Replaced()
        // The `SequenceMark` (shared memory) of the sequences that notifyd used without a log.
        if let mark = try? SequenceMark(ofMissing: path) {
            replaced.nextSequence = mark.value
            replaced.marks.append(mark)
        }
        guard DatabaseFile(path: path).exists else { return replaced }
        do throws(StoreError) {
            let opened = try Log.open(at: path, StoreOptions())
            defer { opened.log.close() }
            replaced.logID = opened.log.database.state.logID
            replaced.nextSequence = max(replaced.nextSequence, opened.recovered.nextSequence)
            replaced.deletionMark = opened.log.deletions.mark
            if let mark = opened.mark { replaced.marks.append(mark) }
        } catch {
            guard [.damaged, .notADatabase].contains(error.code) else { throw error }
            replaced.unreadable = error.code == .notADatabase ? "it is not a database" : error.message
            let next = try? DamagedLog(path: path).nextSequence
            replaced.nextSequence = max(replaced.nextSequence, next ?? 0)
        }
        return replaced
    }

    // MARK: The exchange

    /// Gives the replaced database a second name (a hard link), and then renames the copy to the path of the log: this
    /// way, the path is never without a file.
    ///
    /// - Returns: The second name of the replaced database; nil if there was none.
    private func exchange() throws(StoreError) -> String? {
        let file = DatabaseFile(path: path)
        do throws(Errno) {
            var kept: String?
            if file.exists {
                let name = freeName()
                try Errno.check(link(path, name))
                // A write-ahead log is left only if the database can't be read. SQLite must not apply it to the backup.
                if DatabaseFile(path: path + "-wal").exists { try Errno.check(rename(path + "-wal", name + "-wal")) }
                kept = name
            }
            try Errno.check(rename(copy.path, path))
            try file.flushDirectory()
            return kept
        } catch {
            throw StoreError(
                .notAccessible,
                "the database '\(path)' can't be replaced: \(AccessProblem.describe(error, opening: path))")
        }
    }

    private func freeName() -> String {
        var number = 1
        while true {
            let name = number == 1 ? path + ".replaced" : "\(path).replaced.\(number)"
            guard DatabaseFile(path: name).exists || DatabaseFile(path: name + "-wal").exists else { return name }
            number += 1
        }
    }
}

extension Log {
    /// Makes the copy a new log that continues at a sequence, and flushes its file. The subscriptions count as used
    /// now, so that none expires because of the time since the backup. The marks of the deletions are raised above
    /// those of the replaced log, so that a reader that continues with a mark of either log gets all deletions of the
    /// backup.
    fileprivate func renew(
        nextSequence: UInt64, _ subscriptions: [DurableRecord], replacing deletionMark: UInt64
    ) throws {
        deletions.raiseMarks(above: deletionMark)
        try inTransaction(.full) { statements in
            try replaceDeletions(through: UInt64(Int64.max), statements)
            try DeletionRow(mark: deletions.mark, events: []).write(with: statements.deletions.insert)
            for record in subscriptions { try update(record.id, record.progress, used: clock.now, statements) }
            try database.changeState(statements) { state in
                state.isClean = true
                state.nextSequence = nextSequence
                state.reservedThrough = max(state.reservedThrough, nextSequence)
                state.epoch = .random(in: 1 ... .max)
                state.logID = (0..<16).map { _ in .random(in: 0 ... .max) }
            }
        }
        try disk.checkpoints.run(.truncate)
    }
}

extension LogFindings {
    fileprivate var firstProblem: String {
        if let problem = problems.first { return problem.text }
        return damagedRanges.first.map { "message \($0.first) is not as it was stored" } ?? "messages are damaged"
    }
}
