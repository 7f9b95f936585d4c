import NIOCore
import NotifyLog
import NotifySystem
import NotifyWire
import Synchronization
import SystemPackage

/// The backup that is being made or read.
enum LogBackup {
    case copying(DatabaseCopy, @Sendable (Result<UInt64, WireError>) -> Void)
    case ready(BackupFile)
}

/// A complete backup, in a file that no longer has a path.
final class BackupFile {
    let file: OwnedDescriptor
    let bytes: UInt64

    init(_ file: consuming OwnedDescriptor) throws(Errno) {
        let descriptor = file.descriptor
        bytes = try Errno.typed { try UInt64(Stat(descriptor).size) }
        self.file = file
    }
}

/// Copies the database for the backup that is being made.
private final class BackupWork: SlicedWork {
    private let current: CurrentLog

    init(_ current: CurrentLog) {
        self.current = current
    }

    func advance(until end: ContinuousClock.Instant) -> Bool { current.continueBackup(until: end) }

    // The backup ends when the log is closed.
    func releaseLog() {}
}

/// Backups: the log is copied to a file beside the database, and the copy is then read in chunks.
extension CurrentLog {
    private var copyPath: String { path + ".backup" }

    /// Removes the files that a backup or a restore left when its process was killed.
    static func removeLeftovers(beside path: String) {
        for suffix in [".backup", ".restore"] { DatabaseFile(path: path + suffix).remove() }
    }

    /// Begins a backup. Ends an earlier one that is under way.
    ///
    /// - Parameter target: The file to which the backup will be written.
    func beginBackup(target: FileLocation, _ completion: @escaping @Sendable (Result<UInt64, WireError>) -> Void) {
        endBackup()
        do {
            try checkTarget(target)
            let log = try openLog()
            if let corruption = log.database.corruption { throw corruption }
            if let damage = log.disk.findDamage() { throw damage.storageFailure }
            try checkRoom(for: UInt64(log.connection.integer("PRAGMA page_count")) * UInt64(Schema.pageSize))
            backup = .copying(try DatabaseCopy(of: log.connection, to: copyPath), completion)
            if slices.active(BackupWork.self) == nil { slices.add(BackupWork(self)) }
        } catch {
            completion(.failure(backupError(error)))
        }
    }

    /// Continues to copy until a time, and reports the size of the backup at the end.
    ///
    /// - Returns: Whether work remains.
    fileprivate func continueBackup(until end: ContinuousClock.Instant) -> Bool {
        // The backup was ended, and its end was reported then.
        guard let completion = copyCompletion else { return false }
        guard let result = copySlice(until: end) else { return true }
        completion(result)
        return false
    }

    /// - Returns: The size of the backup in bytes, or the error of the copy; nil if work remains. After an error, the
    ///   file of the copy is removed.
    private func copySlice(until end: ContinuousClock.Instant) -> Result<UInt64, WireError>? {
        guard case .copying(let copy, _)? = backup, let log else { return .failure(Self.ended) }
        do {
            try checkRoom(for: 0)
            guard try copy.copy(until: end) else { return nil }
            let file = try BackupFile(copy.finish { complete(&$0, of: log) })
            backup = .ready(file)
            return .success(file.bytes)
        } catch {
            backup = nil
            return .failure(backupError(error))
        }
    }

    private var copyCompletion: (@Sendable (Result<UInt64, WireError>) -> Void)? {
        guard case .copying(_, let completion)? = backup else { return nil }
        return completion
    }

    /// Changes the state of the copy, so that a start with the copy continues after the sequences used so far.
    private func complete(_ state: inout StateRow, of log: Log) {
        let used = mark.withLock { $0?.value } ?? state.reservedThrough
        state.nextSequence = max(used, log.persistedThrough + 1)
        state.reservedThrough = max(state.reservedThrough, state.nextSequence)
        state.isClean = true
        state.clock = log.clock.mark
    }

    func readBackup(from offset: UInt64, maximumBytes: Int) throws(WireError) -> ByteBuffer {
        guard case .ready(let backup)? = backup else { throw Self.ended }
        do {
            var buffer = ByteBuffer()
            try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: maximumBytes) { bytes in
                try backup.file.descriptor.read(
                    fromAbsoluteOffset: Int64(clamping: offset),
                    into: UnsafeMutableRawBufferPointer(rebasing: bytes.prefix(maximumBytes)))
            }
            guard buffer.readableBytes > 0 else { throw Errno.ioError }
            return buffer
        } catch {
            throw backupError(error)
        }
    }

    /// Ends the backup, if there is one, and removes its copy.
    func endBackup() {
        let completion = copyCompletion
        // The file is removed before the end is reported.
        backup = nil
        completion?(.failure(Self.ended))
    }

    private static let ended = WireError(.storageFailed, "no backup: the backup was ended")

    // MARK: Checks

    /// - Throws: `invalidArgument` if the file is, or would be, one of the daemon's files.
    private func checkTarget(_ target: FileLocation) throws(WireError) {
        let files = DatabaseFile(path: path).ownPaths + options.otherOwnPaths
        if let path = files.first(where: { target.isFile(at: $0) }) { throw Self.ownFile(path) }
        try checkMark(target)
    }

    /// - Throws: `invalidArgument` if the file is the shared memory of the sequence mark.
    private func checkMark(_ target: FileLocation) throws(WireError) {
        guard let name = mark.withLock({ $0?.name }), name == "/" + target.name,
            let status = try? Stat(FilePath("/dev/shm")), status.deviceID.rawValue == target.device,
            status.inode.rawValue == target.inode
        else { return }
        throw Self.ownFile("/dev/shm" + name)
    }

    private static func ownFile(_ path: String) -> WireError {
        WireError(.invalidArgument, "'\(path)' is the daemon's own file: write the backup to another one")
    }

    /// Checks that the minimum of free space stays free when `bytes` are written to the disk.
    private func checkRoom(for bytes: UInt64) throws(StorageFailure) {
        guard let free = DiskSpace(at: AccessProblem.directory(of: path))?.freeBytes else { return }
        let minimum = options.retention.minimumFreeBytes
        guard free < bytes + minimum else { return }
        let needed = bytes > 0 ? "the copy beside the database needs \(bytes) bytes, and " : ""
        throw StorageFailure(
            kind: .full, message: "\(needed)log.min_free_bytes is \(minimum); the disk has \(free) free bytes")
    }

    private func backupError(_ error: any Error) -> WireError {
        switch error {
        case let error as WireError: return error
        case let error as Errno:
            let isFull = [.noSpace, .diskQuotaExceeded].contains(error)
            return WireError(isFull ? .logFull : .storageFailed, "no backup: \(error)")
        default: break
        }
        let failure = log?.failure(error) ?? (error as? StorageFailure) ?? Self.unknown(error)
        let code: ErrorCode =
            switch failure.kind {
            case .full: .logFull
            case .inputOutput: .storageFailed
            case .damaged: .logDamaged
            }
        return WireError(code, "no backup: \(failure.message)")
    }

    private static func unknown(_ error: any Error) -> StorageFailure {
        StorageFailure(kind: .inputOutput, message: "\(error)")
    }
}
