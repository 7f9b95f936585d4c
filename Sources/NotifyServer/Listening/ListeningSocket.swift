package import Glibc
package import NotifySystem
import SystemPackage
import Synchronization

/// The socket that clients connect to: bound and listening, ready for the event loop.
///
/// If `bind` created the socket, ``removeFile()`` removes its file, at the latest when this object is destroyed. If
/// systemd passed the socket, systemd owns the file.
package final class ListeningSocket: Sendable {
    /// The maximum number of connections that wait to be accepted. The kernel limits it to `net.core.somaxconn`.
    package static let backlog: CInt = 4096

    package let path: String
    package let isFromServiceManager: Bool
    private let state: Mutex<State>

    private struct State: ~Copyable {
        /// The listening descriptor; `nil` after ``close()``.
        var descriptor: OwnedDescriptor?
        /// The file created at ``path``; `nil` once removed, and for a socket from systemd.
        var ownFile: OwnFile?
    }

    /// Distinguishes the socket's file from another file created later at the same path.
    private struct Identity: Equatable {
        let device: DeviceID
        let inode: Inode

        init(of path: String) throws(Errno) {
            let status = try Stat(FilePath(path), followTargetSymlink: false)
            device = status.deviceID
            inode = status.inode
        }
    }

    private struct OwnFile: ~Copyable {
        let lock: FileLock
        let identity: Identity
    }

    private init(path: String, descriptor: consuming OwnedDescriptor, ownFile: consuming OwnFile?) {
        self.path = path
        isFromServiceManager = ownFile == nil
        state = Mutex(State(descriptor: descriptor, ownFile: ownFile))
    }

    deinit {
        removeFile()
    }

    /// Takes over a socket that systemd opened.
    package convenience init(fromServiceManager descriptor: consuming OwnedDescriptor) {
        let path = UnixSocketAddress.boundPath(of: descriptor.descriptor) ?? "(a socket without a path)"
        self.init(path: path, descriptor: descriptor, ownFile: nil)
    }

    /// Creates the socket at `path`, and replaces a stale socket that no process serves.
    ///
    /// - Parameter mode: The permission bits; connecting needs write permission.
    package static func bind(path: String, mode: mode_t) throws(ServerError) -> ListeningSocket {
        let address = try address(path)
        let lock = try lock(path, address)
        if try hasStaleSocket(at: path, address) {
            guard unlink(path) == 0 || Errno.last == .noSuchFileOrDirectory else {
                throw .directoryUnusable(AccessProblem.directory(of: path), purpose: "socket", cause: .last)
            }
        }
        do throws(Errno) {
            let descriptor = try OwnedDescriptor.unixSocket(SOCK_STREAM)
            let identity = try bind(descriptor.descriptor, path: path, address, mode: mode)
            let ownFile = OwnFile(lock: lock, identity: identity)
            return ListeningSocket(path: path, descriptor: descriptor, ownFile: ownFile)
        } catch {
            throw .directoryUnusable(AccessProblem.directory(of: path), purpose: "socket", cause: error)
        }
    }

    /// Checks whether `bind` would succeed. Changes nothing, but connects to an existing socket.
    ///
    /// - Throws: The `ServerError` of `bind`: `socketInUse` if another process serves or holds the socket.
    package static func check(path: String) throws(ServerError) {
        let address = try address(path)
        // The socket is checked before the lock, because the lock file of another user's daemon might not be
        // accessible.
        _ = try hasStaleSocket(at: path, address)
        do throws(FileLock.Failure) {
            try FileLock.check(guarding: path)
        } catch {
            throw ServerError(locking: path, error)
        }
        let directory = AccessProblem.directory(of: path)
        guard faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) == 0 else {
            throw .directoryUnusable(directory, purpose: "socket", cause: .last)
        }
    }

    private static func address(_ path: String) throws(ServerError) -> UnixSocketAddress {
        guard let address = UnixSocketAddress(path: path) else {
            throw ServerError(
                .socketPathUnusable,
                "the socket path \(path) has \(path.utf8.count) bytes but a Unix socket's path has between 1 and "
                    + "\(UnixSocketAddress.maximumPathBytes), without NUL: choose a shorter one with --socket")
        }
        return address
    }

    /// Duplicates the listening descriptor for the event loop, which closes the copy.
    func copyDescriptor() throws(Errno) -> OwnedDescriptor {
        OwnedDescriptor(owning: try onDescriptor { fcntl($0, F_DUPFD_CLOEXEC, 0) })
    }

    /// Restores the backlog, because the event loop calls `listen` again with a shorter backlog.
    ///
    /// A socket from systemd gets the maximum backlog, `net.core.somaxconn`, which is systemd's default. The backlog
    /// configured in the socket's unit could be read only over netlink.
    func restoreBacklog() throws(Errno) {
        _ = try onDescriptor { listen($0, isFromServiceManager ? .max : Self.backlog) }
    }

    /// Closes the descriptor. A socket created by `bind` stops listening once the event loop has closed its copies of
    /// the descriptor. A socket from systemd keeps listening.
    package func close() {
        state.withLock { $0.descriptor = nil }
    }

    private func onDescriptor(_ call: (CInt) -> CInt) throws(Errno) -> CInt {
        try state.withLock { state throws(Errno) in
            guard let descriptor = state.descriptor?.rawValue else { throw .badFileDescriptor }
            return try Errno.check(call(descriptor))
        }
    }

    /// Removes the socket's file if it is still the one created here, then releases the lock of the path.
    package func removeFile() {
        state.withLock { state in
            guard let ownFile = state.ownFile.take() else { return }
            guard (try? Identity(of: path)) == ownFile.identity else { return }
            unlink(path)
        }
    }

    // MARK: - Making the socket

    /// Binds the socket, sets its mode, and then listens. No client can connect before `listen`, so the mode applies to
    /// every connection.
    private static func bind(
        _ descriptor: FileDescriptor, path: String, _ address: UnixSocketAddress, mode: mode_t
    ) throws(Errno) -> Identity {
        try Errno.check(address.withSockaddr { Glibc.bind(descriptor.rawValue, $0, $1) })
        do throws(Errno) {
            try Errno.check(chmod(path, mode))
            let identity = try Identity(of: path)
            try Errno.check(listen(descriptor.rawValue, backlog))
            return identity
        } catch {
            unlink(path)
            throw error
        }
    }

    private static func lock(_ path: String, _ address: UnixSocketAddress) throws(ServerError) -> FileLock {
        do throws(FileLock.Failure) {
            return try FileLock(guarding: path)
        } catch {
            // A service's socket directory may belong to another user. In that case the problem is not the directory,
            // but the running service.
            throw ServiceUnit(serving: address)?.refusal(of: path) ?? ServerError(locking: path, error)
        }
    }

    /// Whether a socket that no process serves is at the path.
    ///
    /// - Throws: `socketInUse` if a process serves the socket, `socketPathUnusable` if another file is at the path.
    private static func hasStaleSocket(at path: String, _ address: UnixSocketAddress) throws(ServerError) -> Bool {
        guard let status = try? Stat(FilePath(path), followTargetSymlink: false) else { return false }
        guard status.type == .socket else {
            throw ServerError(
                .socketPathUnusable,
                "\(path) exists and is not a socket: move it away, or choose another path with --socket")
        }
        switch try connectionResult(to: address) {
        case .connectionRefused: return true
        case .noSuchFileOrDirectory: return false
        case nil, .resourceTemporarilyUnavailable, .nowInProgress:
            throw ServiceUnit(serving: address)?.refusal(of: path)
                ?? ServerError(
                    .socketInUse,
                    "another process serves the socket \(path): stop it, or choose another path with --socket")
        case let error?:
            throw ServerError(
                .socketInUse,
                "the socket \(path) exists and cannot be probed: remove it if no process uses it, "
                    + "or choose another path with --socket",
                cause: error)
        }
    }

    /// The error of connecting to the address; `nil` if the connection succeeds.
    private static func connectionResult(to address: UnixSocketAddress) throws(ServerError) -> Errno? {
        do throws(Errno) {
            let probe = try OwnedDescriptor.unixSocket(SOCK_STREAM)
            return address.withSockaddr { connect(probe.rawValue, $0, $1) == 0 ? nil : .last }
        } catch {
            throw ServerError(.systemCallFailed, "no socket can be opened", cause: error)
        }
    }
}

extension ServerError {
    /// The error for a lock file of the socket at `path` that can't be locked.
    fileprivate init(locking path: String, _ failure: FileLock.Failure) {
        let lockPath = FileLock.path(guarding: path)
        switch failure {
        case .held(let holder):
            let process = holder.map { " (pid \($0))" } ?? ""
            self.init(
                .socketInUse,
                "another notifyd\(process) holds the socket \(path): stop it, or choose another path with --socket")
        case .notARegularFile(let type):
            let what =
                switch type {
                case .symbolicLink?: "a symbolic link"
                case .directory?: "a directory"
                default: "not a regular file"
                }
            self.init(.directoryUnusable, "the lock file \(lockPath) of the socket is \(what): remove it yourself")
        case .notTrusted(let problem):
            self.init(
                .directoryUnusable,
                "the socket \(path) is not opened: \(problem), or choose another path with --socket")
        case .notOpened(let error) where error != .permissionDenied && error != .notPermitted:
            self = .directoryUnusable(AccessProblem.directory(of: path), purpose: "socket", cause: error)
        case .notOpened(let error):
            self.init(
                .directoryUnusable,
                "the lock file \(lockPath) of the socket cannot be opened: "
                    + "\(AccessProblem.describe(error, opening: lockPath)), or choose another path with --socket")
        case .notLocked(let error):
            self.init(.systemCallFailed, "the lock file \(lockPath) cannot be locked", cause: error)
        }
    }
}
