package import Glibc
package import NIOCore

/// Who is at the other end of a Unix socket, as the kernel noted when it connected. The peer cannot forge it.
///
/// The pid is that of the process that connected; it may have ended since, or have passed its socket on.
package struct PeerCredentials: Sendable, Equatable {
    package let processID: pid_t
    package let userID: uid_t
    package let groupID: gid_t

    package init(processID: pid_t, userID: uid_t, groupID: gid_t) {
        self.processID = processID
        self.userID = userID
        self.groupID = groupID
    }

    /// The kernel's `struct ucred`, which Glibc shows only to those who define `_GNU_SOURCE`.
    private struct KernelCredentials {
        var processID: pid_t = 0
        var userID: uid_t = .max
        var groupID: gid_t = .max
    }

    /// Asks the kernel about a connected socket.
    package init(descriptor: CInt) throws(SystemCallError) {
        var kernel = KernelCredentials()
        var length = socklen_t(MemoryLayout<KernelCredentials>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &kernel, &length) == 0 else {
            throw SystemCallError("getsockopt(SO_PEERCRED)")
        }
        try self.init(kernel)
    }

    /// Asks the kernel about a channel's socket. On the channel's event loop the future is complete when it is returned.
    package static func of(_ channel: any Channel) -> EventLoopFuture<PeerCredentials> {
        guard let provider = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        let kernel: EventLoopFuture<KernelCredentials> = provider.unsafeGetSocketOption(
            level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
        return kernel.flatMapThrowing { try PeerCredentials($0) }
    }

    private init(_ kernel: KernelCredentials) throws(SystemCallError) {
        // The kernel's answer for a socket that was never connected: nobody.
        guard kernel.userID != .max else { throw SystemCallError("getsockopt(SO_PEERCRED)", errorNumber: ENOTCONN) }
        self.init(processID: kernel.processID, userID: kernel.userID, groupID: kernel.groupID)
    }
}
