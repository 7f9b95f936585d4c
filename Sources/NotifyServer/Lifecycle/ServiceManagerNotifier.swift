import Glibc
import NotifySystem
import SystemPackage
package import NIOCore

/// Reports the state of the service to systemd, over the datagram socket of `sd_notify(3)`. Does nothing if there is no
/// such socket.
///
/// No call blocks. A message that the socket does not take at once is dropped, and the call returns `false`.
package final class ServiceManagerNotifier: Sendable {
    private let descriptor: SystemPackage.FileDescriptor?
    private let address: UnixSocketAddress?
    /// The interval of keep-alive messages: half of systemd's watchdog timeout. `nil` if this process has no watchdog.
    package let watchdogInterval: Duration?

    package init(context: ProcessContext) {
        address = Self.address(context)
        descriptor = address == nil ? nil : try? OwnedDescriptor.unixSocket(SOCK_DGRAM).release()
        watchdogInterval = Self.watchdogInterval(context)
    }

    deinit {
        try? descriptor?.close()
    }

    /// Whether there is a service manager to notify.
    package var isActive: Bool { descriptor != nil }

    /// Reports that clients can connect.
    @discardableResult
    package func ready(status: String) -> Bool {
        send("READY=1\nSTATUS=\(Self.oneLine(status))")
    }

    /// Sets the line that `systemctl status` shows.
    @discardableResult
    package func status(_ status: String) -> Bool {
        send("STATUS=\(Self.oneLine(status))")
    }

    /// Reports that the service is stopping.
    @discardableResult
    package func stopping(status: String) -> Bool {
        send("STOPPING=1\nSTATUS=\(Self.oneLine(status))")
    }

    /// Sends a keep-alive message to the watchdog.
    @discardableResult
    package func sendKeepAlive() -> Bool {
        send("WATCHDOG=1")
    }

    /// Asks systemd to extend the timeout of the start or stop to `duration` from now.
    @discardableResult
    package func extendTimeout(by duration: Duration) -> Bool {
        let (seconds, attoseconds) = duration.components
        return send("EXTEND_TIMEOUT_USEC=\(seconds * 1_000_000 + attoseconds / 1_000_000_000_000)")
    }

    /// Sends keep-alive messages from an event loop, so that systemd notices if the loop hangs.
    ///
    /// - Returns: The task to cancel before the loop ends; `nil` if there is no watchdog.
    package func sendKeepAlives(from eventLoop: any EventLoop) -> RepeatedTask? {
        guard isActive, let watchdogInterval else { return nil }
        return eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: TimeAmount(watchdogInterval)) { _ in
            self.sendKeepAlive()
        }
    }

    private func send(_ text: String) -> Bool {
        guard let descriptor, let address else { return false }
        let bytes = Array(text.utf8)
        let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
        let sent = address.withSockaddr { sendto(descriptor.rawValue, bytes, bytes.count, flags, $0, $1) }
        return sent == bytes.count
    }

    /// The address in `NOTIFY_SOCKET`: a path, or an abstract name after a leading `@`. Other addresses (vsock) are
    /// ignored.
    private static func address(_ context: ProcessContext) -> UnixSocketAddress? {
        guard let text = context.variable("NOTIFY_SOCKET") else { return nil }
        if text.hasPrefix("@") { return UnixSocketAddress(abstractName: String(text.dropFirst())) }
        return text.hasPrefix("/") ? UnixSocketAddress(path: text) : nil
    }

    private static func watchdogInterval(_ context: ProcessContext) -> Duration? {
        guard let text = context.variable("WATCHDOG_USEC"), let microseconds = Int64(text), microseconds > 1 else {
            return nil
        }
        if let process = context.variable("WATCHDOG_PID"), pid_t(process) != context.processID { return nil }
        return .microseconds(microseconds / 2)
    }

    private static func oneLine(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 })
    }
}
