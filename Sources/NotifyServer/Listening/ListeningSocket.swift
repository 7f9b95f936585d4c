package import Glibc
import Synchronization

/// The socket that clients connect to: bound and listening, ready to be given to the event loop.
///
/// It either was made here, and then its file goes when ``removeFile()`` is called or this object goes, or was passed by
/// systemd, which keeps it.
package final class ListeningSocket: Sendable {
    /// Connections that wait to be accepted; the kernel takes the lesser of this and `net.core.somaxconn`.
    package static let backlog: CInt = 4096

    package let path: String
    package let isFromServiceManager: Bool
    private let state: Mutex<State>

    private struct State: ~Copyable {
        /// The listening descriptor until the event loop takes it.
        var descriptor: OwnedDescriptor?
        /// What is at ``path`` because of us; `nil` once removed, and for a socket of systemd's.
        var ownFile: OwnFile?
    }

    private struct OwnFile: ~Copyable {
        let lock: FileLock
        let device: dev_t
        let inode: ino_t
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
        let path = UnixSocketAddress.boundPath(of: descriptor.rawValue) ?? "(a socket without a path)"
        self.init(path: path, descriptor: descriptor, ownFile: nil)
    }

    /// Makes the socket at `path`; a stale one that a dead process left there is replaced.
    ///
    /// - Parameter mode: who may connect: writing is connecting.
    package static func bind(path: String, mode: mode_t) throws(ServerError) -> ListeningSocket {
        guard let address = UnixSocketAddress(path: path) else {
            throw ServerError(
                .socketPathUnusable,
                "the socket path \(path) has \(path.utf8.count) bytes but a Unix socket's path has between 1 and "
                    + "\(UnixSocketAddress.maximumPathBytes), without NUL: choose a shorter one with --socket")
        }
        let lock = try FileLock(guarding: path, purpose: "socket")
        try removeStaleSocket(at: path, address)
        do throws(SystemCallError) {
            let descriptor = try OwnedDescriptor.unixSocket(SOCK_STREAM)
            let identity = try bind(descriptor.rawValue, path: path, address, mode: mode)
            let ownFile = OwnFile(lock: lock, device: identity.device, inode: identity.inode)
            return ListeningSocket(path: path, descriptor: descriptor, ownFile: ownFile)
        } catch {
            throw .folderUnusable(Folder.containing(path), purpose: "socket", cause: error)
        }
    }

    /// The listening descriptor, for the event loop, which closes it.
    package func takeDescriptor() -> CInt? {
        state.withLock { state in state.descriptor.take()?.release() }
    }

    /// Removes the socket's file if it is still the one made here, then lets another daemon have the path.
    package func removeFile() {
        state.withLock { state in
            guard let ownFile = state.ownFile.take() else { return }
            var status = stat()
            guard lstat(path, &status) == 0, status.st_dev == ownFile.device, status.st_ino == ownFile.inode else {
                return
            }
            unlink(path)
        }
    }

    // MARK: - Making the socket

    /// Binds and listens. Nobody can connect before `listen`, and by then the mode is set.
    private static func bind(
        _ descriptor: CInt, path: String, _ address: UnixSocketAddress, mode: mode_t
    ) throws(SystemCallError) -> (device: dev_t, inode: ino_t) {
        guard address.withSockaddr({ Glibc.bind(descriptor, $0, $1) }) == 0 else { throw SystemCallError("bind") }
        var status = stat()
        var failure: SystemCallError?
        if chmod(path, mode) != 0 {
            failure = SystemCallError("chmod")
        } else if lstat(path, &status) != 0 {
            failure = SystemCallError("lstat")
        } else if listen(descriptor, backlog) != 0 {
            failure = SystemCallError("listen")
        }
        if let failure {
            unlink(path)
            throw failure
        }
        return (status.st_dev, status.st_ino)
    }

    private static func removeStaleSocket(at path: String, _ address: UnixSocketAddress) throws(ServerError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw ServerError(
                .socketPathUnusable,
                "\(path) exists and is not a socket: move it away, or choose another path with --socket")
        }
        switch try connectionResult(to: address) {
        case ECONNREFUSED:
            guard unlink(path) == 0 || errno == ENOENT else {
                throw .folderUnusable(Folder.containing(path), purpose: "socket", cause: SystemCallError("unlink"))
            }
        case ENOENT:
            return
        case 0, EAGAIN, EINPROGRESS:
            throw ServerError(
                .socketInUse,
                "another process serves the socket \(path): stop it, or choose another path with --socket")
        case let errorNumber:
            throw ServerError(
                .socketInUse,
                "the socket \(path) exists and cannot be probed: remove it if nobody serves it, "
                    + "or choose another path with --socket",
                cause: SystemCallError("connect", errorNumber: errorNumber))
        }
    }

    /// The `errno` of connecting to the address, 0 if somebody answers there.
    private static func connectionResult(to address: UnixSocketAddress) throws(ServerError) -> CInt {
        do throws(SystemCallError) {
            let probe = try OwnedDescriptor.unixSocket(SOCK_STREAM)
            return address.withSockaddr { connect(probe.rawValue, $0, $1) == 0 ? 0 : errno }
        } catch {
            throw ServerError(.systemCallFailed, "no socket can be opened", cause: error)
        }
    }
}
