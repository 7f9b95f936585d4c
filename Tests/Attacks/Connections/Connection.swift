import Glibc
import NotifyWire
import WireTestSupport

/// A system call that failed.
struct SystemError: Error, CustomStringConvertible {
    let call: String
    let code: Int32

    init(_ call: String, _ code: Int32 = errno) {
        self.call = call
        self.code = code
    }

    var description: String { "\(call): \(String(cString: strerror(code)))" }
}

extension ErrorFrame {
    /// Decodes a received frame. Returns nil if it is not an error.
    init?(kind: UInt8, _ body: UnsafeRawBufferPointer) {
        guard kind == FrameKind.error.rawValue else { return nil }
        var reader = FieldReader(body)
        try? self.init(flags: 0, reading: &reader)
    }
}

/// A client connection, which is non-blocking once it is connected. Buffers written frames, counts received frames, and
/// passes received frames to `onFrame` if that is set.
///
/// The daemon may close the connection at any time, for example to refuse an attack. After that, writes are discarded
/// and nothing is received.
final class Connection {
    let descriptor: Int32
    /// Whether `serve` reads from the connection.
    var isReading = true
    var onFrame: FrameScanner.Handler?
    private(set) var scanner = FrameScanner()
    private(set) var isOpen = true
    private var outgoing: [UInt8] = []
    private var written = 0
    private var lastRequest: UInt64 = 0

    /// Connects and sends a greeting. Connecting blocks while the socket's backlog is full.
    init(_ path: String, overflow: OverflowPolicy = .dropOldest) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError("socket") }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            let error = SystemError("connect")
            close(descriptor)
            throw error
        }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        write(Hello(overflow: overflow, instance: .random()))
        flush()
    }

    deinit {
        close(descriptor)
    }

    func newRequest() -> UInt64 {
        lastRequest += 1
        return lastRequest
    }

    /// Reserves consecutive request numbers, and returns the first.
    func newRequests(_ count: Int) -> UInt64 {
        lastRequest += UInt64(count)
        return lastRequest - UInt64(count) + 1
    }

    // MARK: Writing

    var isFlushed: Bool { outgoing.isEmpty }

    func write(_ bytes: some Collection<UInt8>) {
        if isOpen { outgoing.append(contentsOf: bytes) }
    }

    /// Writes bytes without copying them, so that connections can share them. Earlier writes must have been flushed.
    func write(shared bytes: [UInt8]) {
        if isOpen { outgoing = bytes }
    }

    func write(_ frame: some ControlFrame) { write(frame.encoded) }

    /// Writes as much as the socket takes.
    func flush() {
        while isOpen, written < outgoing.count {
            let count = outgoing.withUnsafeBytes {
                send(descriptor, $0.baseAddress?.advanced(by: written), $0.count - written, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EAGAIN || errno == EINTR { return }
            if count < 0 { return end() }
            written += count
        }
        // Releases the array instead of keeping its capacity, because other connections may share the array.
        outgoing = []
        written = 0
    }

    /// Shuts down the client's direction. Unflushed bytes are discarded.
    func shutDown() {
        outgoing = []
        written = 0
        shutdown(descriptor, Int32(SHUT_WR))
    }

    // MARK: Reading

    /// The bytes in the socket that were not read yet.
    var unreadBytes: Int {
        var bytes: CInt = 0
        return ioctl(descriptor, UInt(FIONREAD), &bytes) == 0 ? Int(bytes) : 0
    }

    /// Reads all available bytes.
    func receive() {
        while isOpen {
            let count = withUnsafeTemporaryAllocation(byteCount: 1 << 18, alignment: 16) { buffer in
                let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
                if count > 0 { scanner.scan(UnsafeRawBufferPointer(rebasing: buffer[..<count]), onFrame) }
                return count
            }
            if count < 0, errno == EAGAIN || errno == EINTR { return }
            if count <= 0 { return end() }
            if count < 1 << 18 { return }
        }
    }

    private func end() {
        isOpen = false
        outgoing = []
        written = 0
    }

    /// The events to poll for.
    fileprivate var interest: Int16 {
        guard isOpen else { return 0 }
        return Int16((isReading ? POLLIN : 0) | (isFlushed ? 0 : POLLOUT))
    }
}

extension Connection {
    /// Waits until a connection is ready or the time has passed. Reads from and flushes the connections that are ready.
    static func serve(_ connections: [Connection], waitingMilliseconds wait: Int32 = 10) {
        var entries = connections.map { connection in
            // `poll` ignores negative descriptors.
            pollfd(fd: connection.interest == 0 ? -1 : connection.descriptor, events: connection.interest, revents: 0)
        }
        guard poll(&entries, nfds_t(entries.count), wait) > 0 else { return }
        for (entry, connection) in zip(entries, connections) where entry.revents != 0 {
            if entry.revents & Int16(POLLOUT | POLLERR | POLLHUP) != 0 { connection.flush() }
            if entry.revents & Int16(POLLIN | POLLHUP) != 0, connection.isReading { connection.receive() }
        }
    }

    /// Sends a ping, and serves the connection until the ping is answered, the connection is closed or the time has
    /// passed.
    func awaitPong(within limit: Duration = .seconds(10)) {
        let answered = scanner.count(.pong)
        write(Ping(request: newRequest()))
        flush()
        Self.serve([self], within: limit) { scanner.count(.pong) > answered || !isOpen }
    }

    /// Serves the connections until the condition is true.
    ///
    /// - Returns: True if the condition is true; false if the time limit was reached or all connections are closed.
    @discardableResult
    static func serve(_ connections: [Connection], within limit: Duration = .seconds(60), until condition: () -> Bool)
        -> Bool
    {
        let deadline = ContinuousClock.now + limit
        while !condition() {
            guard ContinuousClock.now < deadline, connections.contains(where: \.isOpen) else { return false }
            serve(connections)
        }
        return true
    }
}

extension [Connection] {
    /// Returns the number of frames of a kind that all connections have received.
    func count(_ kind: FrameKind) -> Int { reduce(0) { $0 + $1.scanner.count(kind) } }
}
