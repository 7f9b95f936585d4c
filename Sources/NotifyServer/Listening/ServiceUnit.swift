import Glibc
import NotifySystem
import SystemPackage

/// The systemd units of notifyd that serve a socket.
struct ServiceUnit: Equatable {
    /// Whether the units belong to the service manager of a user, not to that of the system.
    let isOfUser: Bool

    /// Connects to the socket, and finds the units by the process that listens on it: notifyd in the cgroup of its
    /// service, or a service manager. A service manager starts notifyd when it receives the connection.
    ///
    /// - Returns: `nil` if another process listens, or if the connection fails.
    init?(serving address: UnixSocketAddress) {
        guard let probe = try? OwnedDescriptor.unixSocket(SOCK_STREAM),
            address.withSockaddr({ connect(probe.rawValue, $0, $1) }) == 0,
            let peer = try? PeerCredentials(of: probe.descriptor)
        else { return nil }
        self.init(
            process: peer.processID, userID: peer.userID, cgroups: Self.read("/proc/\(peer.processID)/cgroup"))
    }

    /// - Parameters:
    ///   - process: The process that last called `listen` on the socket.
    ///   - cgroups: The content of `/proc/<process>/cgroup`; `nil` if the process has ended. In that case a service
    ///     manager keeps the socket open.
    init?(process: pid_t, userID: uid_t, cgroups: String?) {
        let paths = (cgroups ?? "").split(separator: "\n").map { $0.drop { $0 != "/" } }
        if process == 1 {
            isOfUser = false
        } else if cgroups == nil {
            isOfUser = userID != 0 && userID == geteuid()
        } else if paths.contains(where: { $0.hasSuffix("/notifyd.service") }) {
            isOfUser = paths.contains { $0.contains("/user@") }
        } else if paths.contains(where: { $0.contains("/user@") && $0.hasSuffix(".service/init.scope") }) {
            isOfUser = true
        } else {
            return nil
        }
    }

    /// The error of starting a second daemon for the same socket.
    func refusal(of path: String) -> ServerError {
        let command = isOfUser ? "systemctl --user" : "systemctl"
        return ServerError(
            .socketInUse,
            "systemd's notifyd.service serves the socket \(path) (see \"\(command) status notifyd\"): run "
                + "\"\(command) stop notifyd.socket notifyd.service\" first, or choose another path with --socket")
    }

    private static func read(_ path: String) -> String? {
        guard let file = try? OwnedDescriptor.open(path, .readOnly) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 4096)
        guard let count = try? bytes.withUnsafeMutableBytes({ try file.descriptor.read(into: $0) }) else { return nil }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
