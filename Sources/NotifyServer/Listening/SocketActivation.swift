import Glibc
package import NotifySystem
import SystemPackage

/// Socket activation: takes the socket that systemd opened for the service, as in `sd_listen_fds(3)`.
package enum SocketActivation {
    package static let variables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]
    /// The first passed descriptor (`SD_LISTEN_FDS_START`).
    package static let firstDescriptor: CInt = 3

    /// Takes ownership of the socket passed to this process.
    ///
    /// - Returns: `nil` if no socket was passed.
    ///
    /// - Throws: ``ServerError`` if systemd's variables are malformed, if several sockets were passed, or if the socket
    ///   is not a listening Unix stream socket.
    package static func claim(
        for context: ProcessContext, firstDescriptor: CInt = firstDescriptor
    ) throws(ServerError) -> OwnedDescriptor? {
        guard let count = try passedCount(for: context), count > 0 else { return nil }
        guard count == 1 else {
            throw ServerError(
                .socketActivationInvalid,
                "systemd passed \(count) sockets but notifyd takes one: leave a single ListenStream= in the socket unit"
            )
        }
        guard fcntl(firstDescriptor, F_GETFD) >= 0 else {
            throw ServerError(
                .socketActivationInvalid,
                "LISTEN_FDS names descriptor \(firstDescriptor) but it is not open: start notifyd through its socket unit",
                cause: Errno.last)
        }
        // The descriptor is verified before this process owns it, because an error would close an owned descriptor. If
        // LISTEN_FDS is wrong and no socket was passed, the descriptor with this number may belong to the runtime.
        try verify(firstDescriptor)
        guard fcntl(firstDescriptor, F_SETFD, FD_CLOEXEC) == 0,
            fcntl(firstDescriptor, F_SETFL, fcntl(firstDescriptor, F_GETFL) | O_NONBLOCK) == 0
        else {
            throw ServerError(
                .systemCallFailed, "the socket that systemd passed cannot be set up", cause: Errno.last)
        }
        return OwnedDescriptor(owning: firstDescriptor)
    }

    private static func passedCount(for context: ProcessContext) throws(ServerError) -> Int? {
        guard let processText = context.variable("LISTEN_PID"), let countText = context.variable("LISTEN_FDS") else {
            return nil
        }
        guard let process = pid_t(processText), process > 0 else { throw malformed("LISTEN_PID", processText) }
        // If the pid differs, systemd set the variables for a parent of this process, and this process inherited them.
        guard process == context.processID else { return nil }
        guard let count = Int(countText), count >= 0 else { throw malformed("LISTEN_FDS", countText) }
        return count
    }

    private static func malformed(_ name: String, _ value: String) -> ServerError {
        ServerError(
            .socketActivationInvalid,
            "\(name)=\(value) is not valid: start notifyd through its socket unit, or unset \(name)")
    }

    private static func verify(_ descriptor: CInt) throws(ServerError) {
        guard option(SO_DOMAIN, of: descriptor) == AF_UNIX else {
            throw invalidSocket("is not a Unix socket")
        }
        guard option(SO_TYPE, of: descriptor) == CInt(SOCK_STREAM.rawValue) else {
            throw invalidSocket("is not a stream socket")
        }
        guard option(SO_ACCEPTCONN, of: descriptor) == 1 else {
            throw invalidSocket("does not listen (is Accept=yes set?)")
        }
    }

    private static func invalidSocket(_ problem: String) -> ServerError {
        ServerError(
            .socketActivationInvalid,
            "the socket that systemd passed \(problem): the socket unit must have ListenStream= with a path and Accept=no"
        )
    }

    private static func option(_ name: CInt, of descriptor: CInt) -> CInt? {
        var value: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
    }
}
