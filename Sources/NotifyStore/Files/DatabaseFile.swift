import Glibc

/// The database as a file, looked at before SQLite opens it: what is not ours is refused without a byte changed.
///
/// Nothing here may run while the database is open. Closing any descriptor of a file drops all POSIX locks that the
/// process has on it, SQLite's among them.
struct DatabaseFile {
    let path: String

    /// What SQLite writes at the start of every database.
    private static let magic = Array("SQLite format 3\0".utf8)
    private static let headerSize = 100
    private static let applicationIDOffset = 68

    /// Creates the file for its owner alone where it is missing, else checks that it can be ours.
    func prepare() throws(StoreError) {
        let created = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if created >= 0 {
            defer { close(created) }
            return try finishCreating(created)
        }
        guard errno == EEXIST else { throw cannotOpen(SystemFailure()) }
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw cannotOpen(SystemFailure()) }
        defer { close(descriptor) }
        try check(descriptor)
    }

    /// Takes group and others out of the files' modes. SQLite gives what it makes later the database's own mode.
    func restrictToOwner() throws(StoreError) {
        for name in [path, path + "-wal"] where chmod(name, 0o600) != 0 && errno != ENOENT {
            let failure = SystemFailure()
            throw StoreError(
                .notAccessible, "'\(name)' can't be made private: \(failure); it must belong to the user of notifyd",
                cause: failure)
        }
    }

    /// The file's entry must be on the disk before anything that it holds counts as flushed.
    private func finishCreating(_ descriptor: Int32) throws(StoreError) {
        fchmod(descriptor, 0o600)
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let folderDescriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { if folderDescriptor >= 0 { close(folderDescriptor) } }
        guard fsync(descriptor) == 0, folderDescriptor >= 0, fsync(folderDescriptor) == 0 else {
            throw cannotOpen(SystemFailure())
        }
    }

    private func check(_ descriptor: Int32) throws(StoreError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw cannotOpen(SystemFailure()) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw notRegular(nil) }
        guard status.st_size > 0 else { return }
        var header = [UInt8](repeating: 0, count: Self.headerSize)
        let count = pread(descriptor, &header, header.count, 0)
        guard count >= 0 else { throw cannotOpen(SystemFailure()) }
        guard count == Self.headerSize, header.starts(with: Self.magic) else {
            throw StoreError(
                .notADatabase, "the file '\(path)' is not a database; it was left as it is, choose another path")
        }
        let applicationID = header[Self.applicationIDOffset..<Self.applicationIDOffset + 4]
            .reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        // Zero may also be a log of ours whose first pages are still in the write-ahead log: SQLite tells later.
        guard applicationID == 0 || applicationID == UInt32(Schema.applicationID) else { throw Schema.foreign(path) }
    }

    private func cannotOpen(_ failure: SystemFailure) -> StoreError {
        if [ELOOP, EISDIR, ENXIO].contains(failure.number) { return notRegular(failure) }
        let code: StoreError.Code = [ENOSPC, EDQUOT].contains(failure.number) ? .full : .notAccessible
        return StoreError(
            code, "the database '\(path)' can't be opened: \(failure); it and its folder must be writable",
            cause: failure)
    }

    private func notRegular(_ failure: SystemFailure?) -> StoreError {
        StoreError(
            .notARegularFile,
            "the database '\(path)' is not a regular file (a symbolic link is not followed); choose another path",
            cause: failure)
    }
}
