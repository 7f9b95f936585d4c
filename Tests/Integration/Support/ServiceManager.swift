import Foundation
import NotifySystem
import SystemPackage

/// A replacement for systemd: the datagram socket in `NOTIFY_SOCKET`.
final class ServiceManager: Sendable {
    let path: String
    /// All received assignments in order, such as `READY=1` and `STATUS=…`.
    let messages = Watched<[String]>([])
    private let descriptor: Int32

    init(path: String) throws {
        self.path = path
        unlink(path)
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Errno.last }
        let descriptor = descriptor
        guard withAddress({ bind(descriptor, $0, $1) }) == 0 else { throw Errno.last }
        // A daemon of another user must be able to write to the socket.
        chmod(path, 0o666)
        Thread.detachNewThread { [descriptor, messages] in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { break }
                let text = String(decoding: buffer[..<count], as: UTF8.self)
                messages.update { $0 += text.split(separator: "\n").map(String.init) }
            }
            close(descriptor)
        }
    }

    /// Waits until every message that was sent before the call is in ``messages``.
    func waitForSentMessages() async throws {
        let marker = "X_MARKER=\(messages.current.count)"
        let sent = withAddress { sendto(descriptor, marker, marker.utf8.count, 0, $0, $1) }
        guard sent == marker.utf8.count else { throw Errno.last }
        _ = try await messages.wait(marker) { $0.contains(marker) ? true : nil }
    }

    private func withAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }
}
