import Glibc
import NotifySystem
import NotifyWire
import SystemPackage

/// The database file. It is checked before SQLite opens it: a file of another program is refused and left unchanged.
///
/// While this process has the database open, no function that opens the file may be called (`prepare`, `create`,
/// `isLog` and the checks). Closing any descriptor of a file releases all POSIX locks that the process holds on the
/// file, including SQLite's.
struct DatabaseFile {
    let path: String

    /// The first bytes of every SQLite database.
    private static let magic = Array("SQLite format 3\0".utf8)
    private static let headerSize = 100
    private static let versionOffset = 60
    private static let applicationIDOffset = 68

    /// Creates the file with mode 0600 if it is missing, otherwise checks that it can be a log.
    ///
    /// - Throws: `noRoomForNew` if the file is missing and the disk is full.
    func prepare() throws(StoreError) {
        do throws(Errno) {
            return try create()
        } catch {
            switch error {
            case .fileExists: break
            case .noSpace, .diskQuotaExceeded: throw StoreError(noRoomFor: path)
            default: throw cannotOpen(error)
            }
        }
        try check(isFlushing: true)
    }

    /// Checks that an existing file can be a log. Changes nothing.
    func checkExisting() throws(StoreError) {
        if exists { try check(isFlushing: false) }
    }

    /// Checks that the file exists, can be read, and has the header of a log.
    func checkReadable() throws(StoreError) {
        let header: [UInt8]
        do throws(Errno) {
            let file = try OwnedDescriptor.open(path, .readOnly, options: .nonBlocking)
            guard try Stat(file.descriptor).type == .regular else { throw Errno.noSuchAddressOrDevice }
            header = try readHeader(file.descriptor)
        } catch {
            if error == .noSuchFileOrDirectory {
                throw StoreError(.notAccessible, "there is no file '\(path)'")
            }
            throw cannotOpen(error)
        }
        guard header.starts(with: Self.magic) || Self.hasLogID(header) else {
            throw StoreError(.notADatabase, "the file '\(path)' is not a database")
        }
    }

    /// Whether the file's header has the id of logs, even if the rest of the header is damaged.
    var isLog: Bool {
        guard let file = try? OwnedDescriptor.open(path, .readOnly, options: [.noFollow, .nonBlocking]),
            let header = try? readHeader(file.descriptor)
        else { return false }
        return Self.hasLogID(header)
    }

    /// The paths of the database and of all files that the daemon may create beside it.
    var ownPaths: [String] {
        ["", "-wal", "-shm", "-journal", ".lock", ".new", ".backup", ".restore", ".reserve"].map { path + $0 }
    }

    /// Whether a file of any type exists at the path.
    var exists: Bool { (try? Stat(FilePath(path), followTargetSymlink: false)) != nil }

    /// Moves the closed database to another path. Never replaces a file.
    ///
    /// - Throws: `Errno`, such as `fileExists`. The file at the old path is removed even after an error.
    func move(to other: String) throws {
        defer { unlink(path) }
        try Errno.check(link(path, other))
        try DatabaseFile(path: other).flushDirectory()
    }

    /// Removes the file, its journal and its write-ahead log.
    func remove() {
        unlink(path)
        removeLogs()
    }

    /// Removes the journal and the write-ahead log, in which SQLite keeps changes of the database.
    func removeLogs() {
        for suffix in ["-wal", "-journal"] { unlink(path + suffix) }
    }

    /// Removes the permissions of group and others. SQLite creates its other files with the mode of the database.
    func restrictToOwner() throws(StoreError) {
        for name in [path, path + "-wal"] where chmod(name, 0o600) != 0 && errno != ENOENT {
            let error = Errno.last
            throw StoreError(
                .notAccessible, "'\(name)' can't be made private: \(AccessProblem.describe(error, opening: name))")
        }
    }

    /// Creates the file.
    ///
    /// - Throws: `fileExists` if a file exists at the path.
    func create() throws(Errno) {
        let file = try OwnedDescriptor.open(
            path, .readWrite, options: [.create, .exclusiveCreate, .noFollow], permissions: .ownerReadWrite)
        try flushEmpty(file)
    }

    /// Flushes the new file and its directory. If the directory entry is not on disk, a power loss removes even a
    /// flushed file.
    private func flushEmpty(_ file: borrowing OwnedDescriptor) throws(Errno) {
        fchmod(file.rawValue, 0o600)
        try Errno.check(fsync(file.rawValue))
        try flushDirectory()
    }

    func flushDirectory() throws(Errno) {
        let directory = try OwnedDescriptor.open(AccessProblem.directory(of: path), .readOnly, options: .directory)
        try Errno.check(fsync(directory.rawValue))
    }

    /// - Parameter isFlushing: Whether to flush an empty file, because the start that created it might not have done
    ///   so.
    private func check(isFlushing: Bool) throws(StoreError) {
        try checkOwners()
        let header: [UInt8]
        do throws(Errno) {
            let file = try OwnedDescriptor.open(path, .readWrite, options: [.noFollow, .nonBlocking])
            let status = try Stat(file.descriptor)
            guard status.type == .regular else { throw Errno.noSuchAddressOrDevice }
            // The file is empty if an earlier start was interrupted after creating it.
            guard status.size > 0 else { return isFlushing ? try flushEmpty(file) : () }
            header = try readHeader(file.descriptor)
        } catch {
            throw cannotOpen(error)
        }
        // A power loss during SQLite's first write can leave zeros. SQLite rolls the write back from the journal file.
        if header == Array(repeating: 0, count: Self.headerSize) { return }
        if Self.hasLogID(header), !header.starts(with: Self.magic) {
            throw StoreError(.damaged, "the header of the file is not that of a database")
        }
        guard header.count == Self.headerSize, header.starts(with: Self.magic) else {
            throw .notADatabase(path)
        }
        let applicationID = Self.number(at: Self.applicationIDOffset, in: header)
        // The id is also 0 if the log's first pages are still in the write-ahead log. In that case `Schema` checks the
        // id that SQLite reports.
        guard applicationID == 0 || applicationID == UInt32(Schema.applicationID) else { throw Schema.foreign(path) }
        let version = Int32(bitPattern: Self.number(at: Self.versionOffset, in: header))
        if applicationID != 0, version > Schema.version { throw Schema.newer(path, version: Int64(version)) }
    }

    private static func hasLogID(_ header: [UInt8]) -> Bool {
        header.count == headerSize && number(at: applicationIDOffset, in: header) == UInt32(Schema.applicationID)
    }

    private static func number(at offset: Int, in header: [UInt8]) -> UInt32 {
        header[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Refuses files of other users if this process runs as root: the owners could change their files at any time, and
    /// could not open the files that root creates. A process that is not root needs no check, because it can't open
    /// other users' files: notifyd creates files with mode 0600.
    private func checkOwners() throws(StoreError) {
        guard geteuid() == 0 else { return }
        for name in [path, path + "-wal"] {
            guard let owner = try? Stat(FilePath(name), followTargetSymlink: false).userID.rawValue, owner != 0
            else { continue }
            throw StoreError(notTrusted: path, .belongs(name, to: owner))
        }
    }

    private func readHeader(_ file: FileDescriptor) throws(Errno) -> [UInt8] {
        try Errno.typed {
            var bytes = [UInt8](repeating: 0, count: Self.headerSize)
            let count = try bytes.withUnsafeMutableBytes { try file.read(fromAbsoluteOffset: 0, into: $0) }
            return Array(bytes[..<count])
        }
    }

    private func cannotOpen(_ error: Errno) -> StoreError {
        if [.tooManySymbolicLinkLevels, .isDirectory, .noSuchAddressOrDevice].contains(error) {
            return notRegular(error)
        }
        let code: StoreErrorCode = [.noSpace, .diskQuotaExceeded].contains(error) ? .full : .notAccessible
        return StoreError(
            code, "the database '\(path)' can't be opened: \(AccessProblem.describe(error, opening: path))")
    }

    private func notRegular(_ error: Errno?) -> StoreError {
        StoreError(
            .notARegularFile,
            "the database '\(path)' is not a regular file (a symbolic link is not followed); choose another path")
    }
}

extension FileLocation {
    /// Whether `path` leads to this location. Folders are compared by device and inode, because a folder can have
    /// several paths.
    func isFile(at path: String) -> Bool {
        guard FilePath(path).lastComponent?.string == name,
            let folder = try? Stat(FilePath(AccessProblem.directory(of: path)))
        else { return false }
        return folder.deviceID.rawValue == device && folder.inode.rawValue == inode
    }
}
