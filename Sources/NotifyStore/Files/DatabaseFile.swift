import Glibc
import NotifySystem
import SystemPackage

/// The database as a file, checked before SQLite opens it: a file of another program is refused without a byte changed.
///
/// Nothing here may run while the database is open. Closing any descriptor of a file drops all POSIX locks that the
/// process has on it, SQLite's among them.
struct DatabaseFile {
    let path: String

    /// The start of every SQLite database.
    private static let magic = Array("SQLite format 3\0".utf8)
    private static let headerSize = 100
    private static let applicationIDOffset = 68

    /// Creates the file for its owner alone if it is missing, else checks that it can be a log.
    ///
    /// - Throws: `noRoomForNew` where the disk has no room for a file that is missing.
    func prepare() throws(StoreError) {
        do throws(Errno) {
            return try create()
        } catch {
            switch error {
            case .fileExists: break
            case .noSpace, .diskQuotaExceeded: throw StoreError(noRoomFor: path, error)
            default: throw cannotOpen(error)
            }
        }
        try check()
    }

    /// Whether anything is at the path.
    var exists: Bool { (try? Stat(FilePath(path), followTargetSymlink: false)) != nil }

    /// Moves the closed database to another path, unless something is there.
    func move(to other: String) throws {
        defer { unlink(path) }
        try Errno.check(link(path, other))
        try DatabaseFile(path: other).flushFolder()
    }

    /// Removes what an interrupted creation has left.
    func remove() {
        for suffix in ["", "-wal", "-journal"] { unlink(path + suffix) }
    }

    /// Removes the access of group and others. SQLite creates its further files with the database's own mode.
    func restrictToOwner() throws(StoreError) {
        for name in [path, path + "-wal"] where chmod(name, 0o600) != 0 && errno != ENOENT {
            let error = Errno.last
            throw StoreError(
                .notAccessible, "'\(name)' can't be made private: \(AccessProblem.describe(error, opening: name))",
                cause: error)
        }
    }

    /// Creates the file, where there is none.
    func create() throws(Errno) {
        let file = try OwnedDescriptor.open(
            path, .readWrite, options: [.create, .exclusiveCreate, .noFollow], permissions: .ownerReadWrite)
        try flushEmpty(file)
    }

    /// The directory entry must be on disk before anything in the file counts as flushed.
    private func flushEmpty(_ file: borrowing OwnedDescriptor) throws(Errno) {
        fchmod(file.rawValue, 0o600)
        try Errno.check(fsync(file.rawValue))
        try flushFolder()
    }

    func flushFolder() throws(Errno) {
        let folder = try OwnedDescriptor.open(AccessProblem.folder(of: path), .readOnly, options: .directory)
        try Errno.check(fsync(folder.rawValue))
    }

    private func check() throws(StoreError) {
        try checkOwners()
        let header: [UInt8]
        do throws(Errno) {
            let file = try OwnedDescriptor.open(path, .readWrite, options: [.noFollow, .nonBlocking])
            let status = try Stat(file.descriptor)
            guard status.type == .regular else { throw Errno.noSuchAddressOrDevice }
            // The start that created it may have ended right after that.
            guard status.size > 0 else { return try flushEmpty(file) }
            header = try readHeader(file.descriptor)
        } catch {
            throw cannotOpen(error)
        }
        // Where power was lost within SQLite's first write, it is undone from the journal beside it.
        if header == Array(repeating: 0, count: Self.headerSize) { return }
        guard header.count == Self.headerSize, header.starts(with: Self.magic) else {
            throw StoreError(
                .notADatabase, "the file '\(path)' is not a database; it was left as it is, choose another path")
        }
        let applicationID = header[Self.applicationIDOffset..<Self.applicationIDOffset + 4]
            .reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        // Zero is also the id of a log whose first pages are still in the write-ahead log: SQLite reports it later.
        guard applicationID == 0 || applicationID == UInt32(Schema.applicationID) else { throw Schema.foreign(path) }
    }

    /// Root may open files of every user: it refuses those, as their owners may change them at any time, and would not be
    /// able to open what root leaves. Another user's attempt ends at the files' modes.
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
        let code: StoreError.Code = [.noSpace, .diskQuotaExceeded].contains(error) ? .full : .notAccessible
        return StoreError(
            code, "the database '\(path)' can't be opened: \(AccessProblem.describe(error, opening: path))",
            cause: error)
    }

    private func notRegular(_ error: Errno?) -> StoreError {
        StoreError(
            .notARegularFile,
            "the database '\(path)' is not a regular file (a symbolic link is not followed); choose another path",
            cause: error)
    }
}
