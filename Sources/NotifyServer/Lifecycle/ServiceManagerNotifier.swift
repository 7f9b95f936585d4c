import Glibc
import NotifySystem
import SystemPackage
package import NIOCore

/// Tells systemd how the service is, over the datagram socket of `sd_notify(3)`; without one it says nothing.
///
/// No call waits: a message that the socket does not take at once is lost, and the call returns `false`.
package final class ServiceManagerNotifier: Sendable {
    private let descriptor: SystemPackage.FileDescriptor?
    private let address: UnixSocketAddress?
    /// How often the watchdog is fed: half of what systemd waits. `nil` if there is no watchdog for this process.
    package let watchdogInterval: Duration?

    package init(context: ProcessContext) {
        address = Self.address(context)
        descriptor = address == nil ? nil : try? OwnedDescriptor.unixSocket(SOCK_DGRAM).release()
        watchdogInterval = Self.watchdogInterval(context)
    }

    deinit {
        try? descriptor?.close()
    }

    /// Whether a service manager listens.
    package var isActive: Bool { descriptor != nil }

    /// The service is up: clients are being served.
    @discardableResult
    package func ready(status: String) -> Bool {
        send("READY=1\nSTATUS=\(Self.oneLine(status))")
    }

    /// One line for `systemctl status`.
    @discardableResult
    package func status(_ status: String) -> Bool {
        send("STATUS=\(Self.oneLine(status))")
    }

    /// The service begins to stop.
    @discardableResult
    package func stopping(status: String) -> Bool {
        send("STOPPING=1\nSTATUS=\(Self.oneLine(status))")
    }

    /// The service is alive.
    @discardableResult
    package func feedWatchdog() -> Bool {
        send("WATCHDOG=1")
    }

    /// Starting or stopping takes longer: systemd shall wait this long from now before it gives up.
    @discardableResult
    package func extendTimeout(by duration: Duration) -> Bool {
        let (seconds, attoseconds) = duration.components
        return send("EXTEND_TIMEOUT_USEC=\(seconds * 1_000_000 + attoseconds / 1_000_000_000_000)")
    }

    /// Feeds the watchdog from an event loop, so that it goes hungry if the loop hangs.
    ///
    /// - Returns: the task to cancel when the loop ends; `nil` if there is no watchdog.
    package func feedWatchdog(from eventLoop: any EventLoop) -> RepeatedTask? {
        guard isActive, let watchdogInterval else { return nil }
        return eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: TimeAmount(watchdogInterval)) { _ in
            self.feedWatchdog()
        }
    }

    private func send(_ text: String) -> Bool {
        guard let descriptor, let address else { return false }
        let bytes = Array(text.utf8)
        let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
        let sent = address.withSockaddr { sendto(descriptor.rawValue, bytes, bytes.count, flags, $0, $1) }
        return sent == bytes.count
    }

    /// A path, or with a leading `@` an abstract name; other families (vsock) are for virtual machines.
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
