import Glibc
import NotifySystem
import SystemPackage
import Testing

@testable import NotifyServer

/// A datagram socket that receives the daemon's messages to systemd.
struct DatagramReceiver: ~Copyable {
    private let descriptor: OwnedDescriptor

    init(_ address: UnixSocketAddress) throws {
        descriptor = try Self.bound(to: address)
    }

    init(path: String) throws {
        descriptor = try Self.bound(to: #require(UnixSocketAddress(path: path)))
    }

    /// Returns the next message with this prefix. Discards other messages, and returns nil after a hundred of them.
    func next(beginningWith prefix: String) -> String? {
        for _ in 0..<100 {
            guard let message = next() else { return nil }
            if message.hasPrefix(prefix) { return message }
        }
        return nil
    }

    private static func bound(to address: UnixSocketAddress) throws -> OwnedDescriptor {
        let descriptor = try OwnedDescriptor.unixSocket(SOCK_DGRAM)
        let result = address.withSockaddr { bind(descriptor.rawValue, $0, $1) }
        guard result == 0 else { throw Errno.last }
        return descriptor
    }

    /// Returns the next message. Waits at most five minutes.
    func next() -> String? {
        var entry = pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, 300_000) == 1 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor.rawValue, &bytes, bytes.count, 0)
        return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
    }
}

/// Binds a socket, as another program would.
func boundSocket(_ type: __socket_type, at path: String, listening: Bool) throws -> OwnedDescriptor {
    let address = try #require(UnixSocketAddress(path: path))
    let descriptor = try OwnedDescriptor.unixSocket(type)
    guard address.withSockaddr({ bind(descriptor.rawValue, $0, $1) }) == 0 else { throw Errno.last }
    if listening {
        guard listen(descriptor.rawValue, 8) == 0 else { throw Errno.last }
    }
    return descriptor
}

/// Leaves a socket file at the path, as a killed process would.
func leaveStaleSocket(at path: String) throws {
    let descriptor = try boundSocket(SOCK_STREAM, at: path, listening: true)
    // Closing the descriptor does not suffice: a program that another test is starting may have a copy of it.
    shutdown(descriptor.rawValue, CInt(SHUT_RDWR))
}

/// Tries to connect to the path.
///
/// - Returns: Whether a process accepts connections there.
func canConnect(to path: String) throws -> Bool {
    let address = try #require(UnixSocketAddress(path: path))
    let descriptor = try OwnedDescriptor.unixSocket(SOCK_STREAM)
    return address.withSockaddr { connect(descriptor.rawValue, $0, $1) } == 0
}
