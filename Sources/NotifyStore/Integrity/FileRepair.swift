import Glibc
package import NotifyLog
import NotifySystem
package import NotifyWire
import SystemPackage

/// The repair of a log: writes all sound rows that can be read from a damaged database to a new one.
package struct FileRepair: Sendable {
    package let path: String
    package let newPath: String
    /// The damage of the old file.
    package internal(set) var findings = LogFindings()
    /// The messages of the new database.
    package internal(set) var messages: UInt64 = 0
    package internal(set) var lostMessages: UInt64 = 0
    /// Ranges of lost messages, up to a limit.
    package internal(set) var lostRanges: [SequenceRange] = []
    /// The ranges of sequences that can't be read. The number of messages in them is unknown.
    package internal(set) var unreadable: [ClosedRange<UInt64>] = []
    /// Lines about each kept durable subscription whose row was damaged or that has lost messages.
    package internal(set) var changedSubscriptions: [String] = []
    package internal(set) var lostSubscriptions: [String] = []
    /// The number of values in the new database.
    package internal(set) var values: UInt64 = 0
    /// The number of durable subscriptions in the new database.
    package internal(set) var subscriptions: UInt64 = 0
    /// Whether the log's state could not be read. In that case sequences continue far above those found, under another
    /// epoch.
    package internal(set) var isStateLost = false
    package internal(set) var nextSequence: UInt64 = 0

    /// Writes the new database. The damaged database is not changed.
    ///
    /// The new file appears at its path only when it is complete and flushed.
    ///
    /// - Parameter newPath: The path of the new file, where no file may exist. Nil for `path` with ".repaired"
    ///   appended.
    /// - Throws: A `StoreError`. The repair then leaves no file of its own; a file that existed before is left.
    package static func run(path: String, to newPath: String? = nil) throws(StoreError) -> FileRepair {
        let path = path.hasPrefix("/") ? path : "./" + path
        let newPath = newPath.map { $0.hasPrefix("/") ? $0 : "./" + $0 } ?? path + ".repaired"
        let source = try open(path)
        defer { source.connection.close() }
        let tables: Set<String>
        do {
            tables = try readableTables(in: source)
        } catch {
            throw StoreError(repairing: path, to: newPath, error)
        }
        guard !DatabaseFile(path: path).ownPaths.contains(where: { FilePath($0) == FilePath(newPath) }) else {
            throw StoreError(
                .notAccessible, "'\(newPath)' is a file of the database '\(path)': choose another with --to")
        }
        guard !DatabaseFile(path: newPath).exists else {
            throw StoreError(.notAccessible, "the file '\(newPath)' exists: move it away, or choose another with --to")
        }
        let temporary = DatabaseFile(path: newPath + ".part")
        do throws(Errno) {
            try temporary.create()
        } catch .fileExists {
            throw StoreError(
                .notAccessible,
                "the file '\(temporary.path)' exists, because another repair is running or was interrupted: remove the "
                    + "file if no repair is running")
        } catch {
            throw StoreError(repairing: path, to: newPath, error)
        }
        temporary.removeLogs()
        do {
            let repair = try FileRepairer(source, tables, temporary.path, for: newPath).run()
            // A daemon that was started meanwhile may have changed the damaged file.
            try LogFile.checkUse(path)
            try temporary.move(to: newPath)
            return repair
        } catch {
            temporary.remove()
            throw StoreError(repairing: path, to: newPath, error)
        }
    }

    private static func open(_ path: String) throws(StoreError) -> LogFile {
        do throws(StoreError) {
            return try LogFile.open(path)
        } catch {
            guard error.code == .notADatabase else { throw error }
            throw StoreError(
                .notADatabase,
                "\(error.message), and nothing can be read from it: restore a backup with \"notifyd --restore FILE\"")
        }
    }

    /// The tables from which the repair may read.
    ///
    /// - Throws: A `StoreError` if the database can't be repaired.
    private static func readableTables(in source: LogFile) throws -> Set<String> {
        if source.version > 0, source.version < Schema.version {
            let isAltered = try LogSchema(version: source.version).difference(in: source.connection) != nil
            throw StoreError(
                .otherSchema,
                "the database '\(source.path)' is of an earlier version, which a repair does not read: "
                    + (isAltered ? "restore a backup" : "start notifyd with it, which migrates it"))
        }
        let tables = try? LogSchema(version: Schema.version).readableTables(in: source.connection)
        guard let tables, tables.contains("messages") else {
            throw StoreError(
                .damaged,
                "nothing can be read from the database '\(source.path)', because its beginning is damaged: restore a "
                    + "backup")
        }
        return tables
    }
}

extension StoreError {
    fileprivate init(repairing path: String, to newPath: String, _ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as Errno:
            self.init(
                [.noSpace, .diskQuotaExceeded].contains(error) ? .full : .notAccessible,
                "the file '\(newPath)' can't be written: \(AccessProblem.describe(error, opening: newPath))")
        case let failure as StorageFailure where failure.kind == .full:
            self.init(noSpaceFor: newPath)
        case let failure as SQLiteFailure where failure.isFull:
            self.init(noSpaceFor: newPath)
        default:
            self.init(.inputOutput, "the database '\(path)' was not repaired: \(error)")
        }
    }

    private init(noSpaceFor path: String) {
        self.init(
            .full,
            "the disk is full: the file '\(path)' was not written; make room on it, or choose another disk with --to")
    }
}
