package import Glibc
package import SystemPackage

/// The credentials of the process at the other end of a Unix socket, as the kernel recorded them when the connection
/// was made. A client cannot forge them.
///
/// The process that connected may since have exited, or passed the socket to another process.
package struct PeerCredentials: Sendable, Equatable {
    package let processID: pid_t
    package let userID: uid_t
    package let groupID: gid_t
    /// The supplementary groups, in ascending order. Empty where the kernel does not report them (before Linux 4.13).
    package let groups: [gid_t]

    package init(processID: pid_t, userID: uid_t, groupID: gid_t, groups: [gid_t] = []) {
        self.processID = processID
        self.userID = userID
        self.groupID = groupID
        self.groups = groups
    }

    /// The kernel's `struct ucred`, which Glibc declares only under `_GNU_SOURCE`.
    private struct KernelCredentials {
        var processID: pid_t = 0
        var userID: uid_t = .max
        var groupID: gid_t = .max
    }

    /// `SO_PEERGROUPS` of `asm-generic/socket.h`, which Swift's Glibc module does not export.
    private static let peerGroups: CInt = 59

    /// Reads the peer's credentials of a connected socket.
    ///
    /// - Throws: `Errno.socketNotConnected` if the socket was never connected, or the error of the call.
    package init(of socket: FileDescriptor) throws(Errno) {
        var kernel = KernelCredentials()
        var length = socklen_t(MemoryLayout<KernelCredentials>.size)
        try Errno.check(getsockopt(socket.rawValue, SOL_SOCKET, SO_PEERCRED, &kernel, &length))
        guard kernel.userID != .max else { throw .socketNotConnected }
        self.init(
            processID: kernel.processID, userID: kernel.userID, groupID: kernel.groupID,
            groups: Self.groups(of: socket))
    }

    private static func groups(of socket: FileDescriptor) -> [gid_t] {
        var groups = [gid_t](repeating: 0, count: 32)
        // Linux allows 65,536 groups. If the buffer is too small, the kernel returns the size needed.
        for _ in 0..<2 {
            var length = socklen_t(groups.count * MemoryLayout<gid_t>.size)
            if getsockopt(socket.rawValue, SOL_SOCKET, peerGroups, &groups, &length) == 0 {
                return groups.prefix(Int(length) / MemoryLayout<gid_t>.size).sorted()
            }
            guard errno == ERANGE else { return [] }
            groups = [gid_t](repeating: 0, count: Int(length) / MemoryLayout<gid_t>.size)
        }
        return []
    }
}
