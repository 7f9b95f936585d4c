import Glibc

/// An exclusive lock on a file beside a socket or database, held until this value goes or the process ends.
///
/// It is taken before what it guards is looked at, so that of two daemons which start together one is refused. The lock
/// file stays behind on purpose: removing it could leave two holders, one of the old file and one of a new.
package struct FileLock: ~Copyable, Sendable {
    private let descriptor: OwnedDescriptor

    /// Takes the lock of `guardedPath`, whose lock file is `guardedPath.lock`, without waiting for another holder.
    ///
    /// - Parameter purpose: what is being opened, in words, for the error: "socket" or "database".
    package init(guarding guardedPath: String, purpose: String) throws(ServerError) {
        let path = guardedPath + ".lock"
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let opened = open(path, flags, 0o600)
        guard opened >= 0 else { throw Self.cannotOpen(path, purpose: purpose, SystemCallError("open")) }
        let descriptor = OwnedDescriptor(owning: opened)
        var status = stat()
        guard fstat(descriptor.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw ServerError(
                .folderUnusable, "the lock file \(path) of the \(purpose) is not a regular file: remove it yourself")
        }
        guard flock(descriptor.rawValue, LOCK_EX | LOCK_NB) == 0 else {
            let failure = SystemCallError("flock")
            guard failure.errorNumber == EWOULDBLOCK else {
                throw ServerError(.systemCallFailed, "the lock file \(path) cannot be locked", cause: failure)
            }
            throw Self.held(guardedPath, purpose: purpose, holder: Self.readHolder(descriptor.rawValue))
        }
        Self.writeHolder(descriptor.rawValue)
        self.descriptor = descriptor
    }

    deinit {
        // Closing is not enough where a process that was just forked has not come to its exec yet.
        flock(descriptor.rawValue, LOCK_UN)
    }

    private static func held(_ path: String, purpose: String, holder: String?) -> ServerError {
        let who = holder.map { " (pid \($0))" } ?? ""
        return ServerError(
            .socketInUse,
            "another notifyd\(who) holds the \(purpose) \(path): stop it, or choose another path with --\(purpose)")
    }

    private static func cannotOpen(_ path: String, purpose: String, _ failure: SystemCallError) -> ServerError {
        switch failure.errorNumber {
        case ELOOP:
            return ServerError(
                .folderUnusable, "the lock file \(path) of the \(purpose) is a symbolic link: remove it yourself")
        case EISDIR:
            return ServerError(
                .folderUnusable, "the lock file \(path) of the \(purpose) is a folder: remove it yourself")
        default:
            return .folderUnusable(Folder.containing(path), purpose: purpose, cause: failure)
        }
    }

    // The holder's pid is only for the message of whoever is refused, so failing to write it does not matter.
    private static func writeHolder(_ descriptor: CInt) {
        let text = Array("\(getpid())\n".utf8)
        guard ftruncate(descriptor, 0) == 0 else { return }
        _ = pwrite(descriptor, text, text.count, 0)
    }

    private static func readHolder(_ descriptor: CInt) -> String? {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count > 0, let end = bytes[..<count].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        return pid_t(String(decoding: bytes[..<end], as: UTF8.self)).map(String.init)
    }
}
