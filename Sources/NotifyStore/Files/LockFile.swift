import Glibc
import Synchronization

/// An exclusive `flock` on a file beside the database, taken before the database is touched.
///
/// SQLite's own locks come too late for that: by the time they refuse, a second daemon has already opened the files.
/// The lock file stays when the lock goes; removing it would let two processes each lock a file of that name.
final class LockFile: Sendable {
    /// Negative once released.
    private let descriptor: Mutex<Int32>

    init(path: String, guarding database: String) throws(StoreError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw Self.cannotOpen(path, SystemFailure()) }
        do throws(StoreError) {
            try Self.lock(descriptor, path: path, guarding: database)
        } catch {
            close(descriptor)
            throw error
        }
        self.descriptor = Mutex(descriptor)
    }

    deinit {
        release()
    }

    func release() {
        descriptor.withLock { descriptor in
            guard descriptor >= 0 else { return }
            // Closing is not enough where a process just forked has not come to its exec yet.
            flock(descriptor, LOCK_UN)
            close(descriptor)
            descriptor = -1
        }
    }

    private static func lock(_ descriptor: Int32, path: String, guarding database: String) throws(StoreError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw StoreError(.notARegularFile, "'\(path)' is not a regular file; move it away or choose another path")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let failure = SystemFailure()
            guard failure.number == EWOULDBLOCK else {
                throw StoreError(.notAccessible, "'\(path)' can't be locked: \(failure)", cause: failure)
            }
            let holder = holder(descriptor).map { " (process \($0))" } ?? ""
            throw StoreError(
                .inUse, "the database '\(database)' is held by another notifyd\(holder); stop it or use another path",
                cause: failure)
        }
        fchmod(descriptor, 0o600)
        tell(holder: getpid(), in: descriptor)
    }

    private static func cannotOpen(_ path: String, _ failure: SystemFailure) -> StoreError {
        if failure.number == ELOOP || failure.number == EISDIR {
            return StoreError(
                .notARegularFile, "'\(path)' is not a regular file; move it away or choose another path",
                cause: failure)
        }
        return StoreError(
            .notAccessible,
            "the lock file '\(path)' can't be created: \(failure); its folder must exist and be writable",
            cause: failure)
    }

    /// Leaves the holder's process id for whoever is refused. Only a courtesy, so failing is no matter.
    private static func tell(holder: Int32, in descriptor: Int32) {
        let line = "\(holder)\n"
        guard ftruncate(descriptor, 0) == 0 else { return }
        _ = pwrite(descriptor, line, line.utf8.count, 0)
    }

    private static func holder(_ descriptor: Int32) -> Int32? {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count > 0 else { return nil }
        return Int32(String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}
