import Glibc
import NIOCore
import NotifySystem
import NotifyWire
import SystemPackage

/// An output to which a backup is written.
protocol BackupOutput: AnyObject {
    /// The location of the file. The daemon compares it with the locations of its own files.
    var location: FileLocation { get }
    /// Appends bytes.
    func write(_ bytes: ByteBuffer) throws(NotifyError)
    /// Must be called when all bytes are written.
    func finish() throws(NotifyError)
}

/// The file of a backup. Until the file is complete, it has no name, so that nothing remains if the process is killed.
/// If the file system has no files without names, the file has a temporary name, and is removed if the backup fails.
final class BackupTarget: BackupOutput {
    /// The location of the file. The daemon compares it with the locations of its own files.
    let location: FileLocation
    private let path: String
    private let folder: String
    private let replacesFile: Bool
    /// The path of the temporary name; nil for a file without a name.
    private let temporaryPath: String?
    private let descriptor: Int32

    /// Creates the file.
    init(path: String, replacesFile: Bool) throws(NotifyError) {
        (self.path, self.replacesFile) = (path, replacesFile)
        let slash = path.lastIndex(of: "/")
        folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let name = String(path[(slash.map { path.index(after: $0) } ?? path.startIndex)...])
        guard !name.isEmpty, name.utf8.count <= 255 else {
            throw NotifyError(.invalidArgument, "'\(path)' is not the name of a file")
        }
        try Self.check(path, replacesFile: replacesFile)
        var status = stat()
        guard stat(folder, &status) == 0 else { throw Self.failure("can't create", path) }
        location = FileLocation(device: UInt64(status.st_dev), inode: UInt64(status.st_ino), name: name)
        if let unnamed = Self.unnamedFile(in: folder) {
            (descriptor, temporaryPath) = (unnamed, nil)
            return
        }
        let temporaryPath = "\(path).\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        descriptor = open(temporaryPath, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        self.temporaryPath = temporaryPath
        guard descriptor >= 0 else { throw Self.failure("can't create", path) }
    }

    deinit {
        guard descriptor >= 0 else { return }
        if let temporaryPath { unlink(temporaryPath) }
        close(descriptor)
    }

    /// `O_TMPFILE`, which Swift does not import.
    private static let unnamedOption: Int32 = 0o20_000_000 | O_DIRECTORY

    /// Creates a file without a name. Returns nil if that is not possible, or if the file could not be named later.
    static func unnamedFile(in folder: String) -> Int32? {
        let descriptor = open(folder, unnamedOption | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        guard access(source(of: descriptor), F_OK) == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// The path of the open file in `/proc`.
    private static func source(of descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }

    /// Checks that there is no file at the path, or a file that may be replaced: a backup or an empty file. Another
    /// file is never replaced, because it could belong to the daemon.
    private static func check(_ path: String, replacesFile: Bool) throws(NotifyError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw NotifyError(.fileNotWritten, "'\(path)' exists and is not a regular file; choose another path")
        }
        guard replacesFile else { throw fileExists(path) }
        guard try isReplaceable(path) else {
            throw NotifyError(
                .fileNotWritten,
                "'\(path)' exists and is not a backup of notifyd; it was not changed; choose another path, or remove it"
            )
        }
    }

    private static func isReplaceable(_ path: String) throws(NotifyError) -> Bool {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("can't read", path) }
        defer { close(descriptor) }
        // An empty file may be a lock file of the daemon, which holds a lock on it.
        guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { return false }
        var header = [UInt8](repeating: 0, count: 100)
        let count = pread(descriptor, &header, header.count, 0)
        return count == 0 || (count == header.count && isBackup(header))
    }

    /// Whether a header is that of a backup: an SQLite database with notifyd's application id and without a write-ahead
    /// log. The database of a daemon has a write-ahead log.
    private static func isBackup(_ header: [UInt8]) -> Bool {
        header.starts(with: Array("SQLite format 3\0".utf8)) && header[18] == 1 && header[19] == 1
            && header[68..<72].elementsEqual("ntfd".utf8)
    }

    func write(_ bytes: ByteBuffer) throws(NotifyError) {
        do throws(Errno) {
            try bytes.writeWhole(to: descriptor)
        } catch {
            throw NotifyError(.fileNotWritten, "can't write '\(path)': \(error)", cause: error)
        }
    }

    /// Flushes the file, and names it.
    func finish() throws(NotifyError) {
        guard fsync(descriptor) == 0 else { throw Self.failure("can't flush", path) }
        try giveName()
        let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
    }

    private func giveName() throws(NotifyError) {
        // Unlike `rename`, a link never replaces a file that was created meanwhile.
        if link(to: path) {
            if let temporaryPath { unlink(temporaryPath) }
            return
        }
        guard errno == EEXIST else { throw Self.failure("can't create", path) }
        guard replacesFile else { throw Self.fileExists(path) }
        try Self.check(path, replacesFile: true)
        let other = temporaryPath ?? "\(path).\(String(UInt32.random(in: .min ... .max), radix: 36))"
        guard temporaryPath != nil || link(to: other) else { throw Self.failure("can't create", path) }
        guard rename(other, path) == 0 else {
            let failure = Self.failure("can't create", path)
            unlink(other)
            throw failure
        }
    }

    /// Gives the file another name. Returns false, with `errno`, if that fails.
    private func link(to path: String) -> Bool {
        linkat(AT_FDCWD, temporaryPath ?? Self.source(of: descriptor), AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0
    }

    private static func fileExists(_ path: String) -> NotifyError {
        NotifyError(.fileNotWritten, "the file '\(path)' exists already; it was not changed")
    }

    private static func failure(_ problem: String, _ path: String) -> NotifyError {
        NotifyError(.fileNotWritten, "\(problem) '\(path)': \(String(cString: strerror(errno)))")
    }
}

/// A backup that is written to an open file, such as a pipe.
final class BackupStream: BackupOutput {
    private let descriptor: Int32
    /// No location, because the name of the open file is unknown.
    let location = FileLocation(device: 0, inode: 0, name: "")

    init(descriptor: Int32) { self.descriptor = descriptor }

    func write(_ bytes: ByteBuffer) throws(NotifyError) {
        do throws(Errno) {
            try bytes.writeWhole(to: descriptor)
        } catch {
            throw NotifyError(.fileNotWritten, "can't write the backup: \(error)", cause: error)
        }
    }

    func finish() {}
}

extension ByteBuffer {
    fileprivate func writeWhole(to descriptor: Int32) throws(Errno) {
        try Errno.typed {
            try withUnsafeReadableBytes { try FileDescriptor(rawValue: descriptor).writeWhole($0) }
        }
    }
}
