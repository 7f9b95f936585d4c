package import Glibc
package import SystemPackage

/// An exclusive `flock` on a file beside a socket or database, held until this value or the process ends.
///
/// Take the lock before opening the guarded file. If two daemons start at the same time, one of them is then refused.
/// SQLite takes its own locks too late for that. The lock file is never removed: otherwise one process could hold the
/// lock of the removed file while another process locks a new file at the same path.
package struct FileLock: ~Copyable, Sendable {
    /// The number of pauses before an attempt to take the lock fails.
    package static let maximumPauses = 20

    private let file: OwnedDescriptor

    /// The reason why a lock was not taken.
    package enum Failure: Error, Equatable {
        /// Another process holds the lock. The value is the process id in the lock file; `nil` if the file contains
        /// none.
        case held(by: pid_t?)
        /// The path exists and is not a regular file: a symbolic link, a directory, a pipe.
        case notARegularFile(FileType?)
        /// Another user may change or replace the lock file. The file was left unchanged.
        case notTrusted(OwnershipProblem)
        /// The file can't be opened or created.
        case notOpened(Errno)
        /// `flock` failed, for example on a file system without locks.
        case notLocked(Errno)
    }

    /// The lock file that belongs to a guarded path.
    package static func path(guarding guardedPath: String) -> String { guardedPath + ".lock" }

    /// Takes the lock of `guardedPath` in the file `guardedPath.lock`. Waits only for as long as a check may take.
    ///
    /// If another user could replace the lock file, two processes could hold the lock at the same time. If the
    /// replacement were a link, this process would write to the target of the link. Therefore the lock file must be a
    /// regular file of this process's user without other hard links, in a directory where no other user can replace
    /// files.
    ///
    /// - Parameter pause: Waits before the next attempt while another process holds the lock: a check in another program
    ///   holds a shared lock for a moment. By default, all pauses together take 100 ms.
    package init(guarding guardedPath: String, pause: () -> Void = { usleep(5_000) }) throws(Failure) {
        let path = Self.path(guarding: guardedPath)
        try Self.checked { () throws(OwnershipProblem) in try OwnershipProblem.checkDirectory(of: path) }
        let file = try Self.open(path, options: .create)
        var pauses = 0
        while true {
            do throws(Failure) {
                try Self.lock(file, path, LOCK_EX)
                break
            } catch {
                guard case .held = error, pauses < Self.maximumPauses else { throw error }
                pauses += 1
                pause()
            }
        }
        fchmod(file.rawValue, 0o600)
        Self.writeHolder(file.descriptor)
        self.file = file
    }

    /// Checks whether ``init(guarding:pause:)`` would take the lock. Creates and changes no file. Shares a free lock
    /// with other checks for a moment.
    package static func check(guarding guardedPath: String) throws(Failure) {
        let path = path(guarding: guardedPath)
        try checked { () throws(OwnershipProblem) in try OwnershipProblem.checkDirectory(of: path) }
        guard (try? Stat(FilePath(path), followTargetSymlink: false)) != nil else {
            let directory = AccessProblem.directory(of: path)
            guard faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) == 0 else { throw .notOpened(.last) }
            return
        }
        let file = try open(path)
        try lock(file, path, LOCK_SH)
        flock(file.rawValue, LOCK_UN)
    }

    /// - Parameter operation: `LOCK_EX` or `LOCK_SH`.
    private static func lock(
        _ file: borrowing OwnedDescriptor, _ path: String, _ operation: Int32
    ) throws(Failure) {
        guard let status = try? Stat(file.descriptor), status.type == .regular else {
            throw .notARegularFile(try? Stat(file.descriptor).type)
        }
        try Self.checked { () throws(OwnershipProblem) in try OwnershipProblem.checkFile(status, at: path) }
        guard flock(file.rawValue, operation | LOCK_NB) == 0 else {
            let error = Errno.last
            throw error == .wouldBlock ? .held(by: Self.readHolder(file.descriptor)) : .notLocked(error)
        }
    }

    deinit {
        // Closing the descriptor would not release the lock while a child process between fork and exec has a copy.
        flock(file.rawValue, LOCK_UN)
    }

    /// Whether the lock file is still at its path. If it is not, another process can take a lock for the same path.
    package func isInPlace(guarding guardedPath: String) -> Bool {
        guard let held = try? Stat(file.descriptor),
            let present = try? Stat(FilePath(Self.path(guarding: guardedPath)), followTargetSymlink: false)
        else { return false }
        return held.deviceID == present.deviceID && held.inode == present.inode
    }

    private static func checked(_ check: () throws(OwnershipProblem) -> Void) throws(Failure) {
        do throws(OwnershipProblem) {
            try check()
        } catch {
            throw .notTrusted(error)
        }
    }

    private static func open(
        _ path: String, options: FileDescriptor.OpenOptions = []
    ) throws(Failure) -> OwnedDescriptor {
        do throws(Errno) {
            return try OwnedDescriptor.open(
                path, .readWrite, options: options.union([.noFollow, .nonBlocking]), permissions: .ownerReadWrite)
        } catch {
            switch error {
            case .tooManySymbolicLinkLevels: throw .notARegularFile(.symbolicLink)
            case .isDirectory: throw .notARegularFile(.directory)
            default: throw .notOpened(error)
            }
        }
    }

    // The process id is only for the error message of a refused process, so failures are ignored.
    private static func writeHolder(_ file: FileDescriptor) {
        guard (try? file.resize(to: 0)) != nil else { return }
        _ = try? file.writeAll(toAbsoluteOffset: 0, "\(getpid())\n".utf8)
    }

    private static func readHolder(_ file: FileDescriptor) -> pid_t? {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = (try? bytes.withUnsafeMutableBytes { try file.read(fromAbsoluteOffset: 0, into: $0) }) ?? 0
        guard let end = bytes[..<count].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        return pid_t(String(decoding: bytes[..<end], as: UTF8.self))
    }
}
