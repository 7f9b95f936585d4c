import Foundation
import NotifySystem
import SystemPackage

/// A connected Unix stream socket. Every wait has a time limit.
final class RawSocket {
    let descriptor: Int32

    init(path: String) throws {
        descriptor = try Self.unconnected()
        let code = Self.connect(descriptor, to: path)
        guard code == 0 else {
            close(descriptor)
            throw Errno(rawValue: code)
        }
        try setNonBlocking()
    }

    /// Takes ownership of a connected socket.
    init(adopting descriptor: Int32) throws {
        self.descriptor = descriptor
        try setNonBlocking()
    }

    deinit {
        close(descriptor)
    }

    static func unconnected() throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Errno.last }
        return descriptor
    }

    /// Connects the socket, and returns the `errno`; 0 for success.
    static func connect(_ descriptor: Int32, to path: String) -> Int32 {
        withAddress(path) { Foundation.connect(descriptor, $0, $1) == 0 ? 0 : errno }
    }

    static func withAddress<Result>(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        precondition(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path), "the path exceeds 107 bytes")
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    private func setNonBlocking() throws {
        guard fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0 else {
            throw Errno.last
        }
    }

    /// Writes as many bytes as the socket accepts, and returns their number; 0 if the socket is full.
    func write(_ bytes: UnsafeRawBufferPointer) throws -> Int {
        let count = Foundation.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        if count >= 0 { return count }
        guard errno == EAGAIN || errno == EINTR else { throw Errno.last }
        return 0
    }

    /// Appends the received bytes to `buffer`. Returns false at the end of the stream, or after a reset.
    func read(into buffer: inout [UInt8]) throws -> Bool {
        try withUnsafeTemporaryAllocation(byteCount: 1 << 18, alignment: 16) { chunk in
            let count = recv(descriptor, chunk.baseAddress, chunk.count, 0)
            if count > 0 { buffer.append(contentsOf: chunk[..<count]) }
            if count < 0, errno != EAGAIN, errno != EINTR, errno != ECONNRESET { throw Errno.last }
            return count > 0 || (count < 0 && errno != ECONNRESET)
        }
    }

    /// Waits until the socket is ready for one of the `poll` events.
    func wait(for events: Int32, until deadline: ContinuousClock.Instant, _ what: () -> String) throws {
        while true {
            let left = deadline - ContinuousClock.now
            guard left > .zero else { throw TimedOut(description: what()) }
            var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            let result = poll(&entry, 1, Int32(min(left / .milliseconds(1), 60_000)) + 1)
            if result > 0 { return }
            guard result == 0 || errno == EINTR else { throw Errno.last }
        }
    }
}
