import Glibc
import NIOCore
import NotifyWire

/// The file of a backup, written under another name until it is complete. Removed if it is not finished.
final class BackupTarget {
    /// Where the file will be, for the daemon.
    let location: FileLocation
    private let path: String
    private let folder: String
    private let replacesFile: Bool
    private let temporaryPath: String
    private let descriptor: Int32

    /// Creates the file under its temporary name.
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
        var template = Array((path + ".XXXXXX").utf8CString)
        descriptor = mkstemp(&template)
        temporaryPath = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard descriptor >= 0 else { throw Self.failure("can't create", path) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit {
        guard descriptor >= 0 else { return }
        unlink(temporaryPath)
        close(descriptor)
    }

    private static func check(_ path: String, replacesFile: Bool) throws(NotifyError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw NotifyError(.fileNotWritten, "'\(path)' exists and is not a regular file; choose another path")
        }
        guard replacesFile else { throw fileExists(path) }
    }

    /// Appends bytes.
    func write(_ bytes: ByteBuffer) throws(NotifyError) {
        let isWritten = bytes.withUnsafeReadableBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
        guard isWritten else { throw Self.failure("can't write", path) }
    }

    /// Flushes the file and gives it its name.
    func finish() throws(NotifyError) {
        guard fsync(descriptor) == 0 else { throw Self.failure("can't flush", path) }
        if replacesFile {
            guard rename(temporaryPath, path) == 0 else { throw Self.failure("can't create", path) }
        } else {
            // Unlike `rename`, never replaces a file that was created meanwhile.
            guard link(temporaryPath, path) == 0 else {
                throw errno == EEXIST ? Self.fileExists(path) : Self.failure("can't create", path)
            }
            unlink(temporaryPath)
        }
        let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
    }

    private static func fileExists(_ path: String) -> NotifyError {
        NotifyError(.fileNotWritten, "the file '\(path)' exists already; it was not changed")
    }

    private static func failure(_ problem: String, _ path: String) -> NotifyError {
        NotifyError(.fileNotWritten, "\(problem) '\(path)': \(String(cString: strerror(errno)))")
    }
}
