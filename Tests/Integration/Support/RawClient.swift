import WireTestSupport
import Foundation
import NotifyWire

/// The daemon has closed the connection.
struct ConnectionEnded: Error {}

/// A client without a state machine. It sends exactly what a test requests, and returns the received frames.
///
/// Must be used by one thread. Every wait has a time limit and blocks the thread.
final class RawClient {
    let socket: RawSocket
    private var reader = ReceivedReader()
    private var hasEnded = false
    /// Frames that were read while a test waited for another frame.
    private var waiting: [Received] = []
    private(set) var lastRequest: UInt64 = 0

    static let patience = Duration.seconds(300)

    init(_ socket: RawSocket) {
        self.socket = socket
    }

    /// Connects and greets.
    convenience init(
        _ daemon: Daemon, instance: InstanceID = .random(), overflow: OverflowPolicy = .dropOldest
    ) throws {
        try self.init(path: daemon.socket, instance: instance, overflow: overflow)
    }

    convenience init(
        path: String, instance: InstanceID = .random(), overflow: OverflowPolicy = .dropOldest
    ) throws {
        self.init(try RawSocket(path: path))
        try greet(instance: instance, overflow: overflow)
    }

    @discardableResult
    func greet(instance: InstanceID = .random(), overflow: OverflowPolicy = .dropOldest) throws -> Welcome {
        try send(Hello(overflow: overflow, instance: instance))
        return try wait("a welcome") { if case .welcome(let welcome) = $0 { welcome } else { nil } }
    }

    func newRequest() -> UInt64 {
        lastRequest += 1
        return lastRequest
    }

    /// Reserves `count` request numbers, and returns the first.
    func newRequests(_ count: Int) -> UInt64 {
        lastRequest += UInt64(count)
        return lastRequest - UInt64(count) + 1
    }

    // MARK: Sending

    func send(_ frame: some ControlFrame, within limit: Duration = patience) throws {
        try send(frame.encoded, within: limit)
    }

    /// Sends bytes, and keeps the frames that arrive meanwhile. If `readingMeanwhile` is false, these frames stay in
    /// the socket, and `send` throws `TimedOut` if the daemon stops reading.
    func send(_ bytes: [UInt8], readingMeanwhile: Bool = true, within limit: Duration = patience) throws {
        let deadline = ContinuousClock.now + limit
        var sent = 0
        while sent < bytes.count {
            let count = try bytes.withUnsafeBytes { try socket.write(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
            sent += count
            guard count == 0 else { continue }
            let events = readingMeanwhile && !hasEnded ? POLLOUT | POLLIN : POLLOUT
            try socket.wait(for: events, until: deadline) { "timed out after sending \(sent) of \(bytes.count) bytes" }
            if readingMeanwhile { try receive() }
        }
    }

    // MARK: Receiving

    /// Whether the test has taken all frames that were read from the socket. This property does not read from the
    /// socket itself, so it is conclusive only after a round trip.
    var isQuiet: Bool { waiting.isEmpty && reader.isEmpty }

    /// Returns the next event. Throws `ConnectionEnded` if there are no more.
    func next(within limit: Duration = patience, _ what: String = "a frame") throws -> Received {
        if !waiting.isEmpty { return waiting.removeFirst() }
        return try nextFromSocket(until: ContinuousClock.now + limit, what)
    }

    /// Waits for the first event for which `find` returns a value. Other events are kept in order.
    func wait<Found>(
        _ what: String, within limit: Duration = patience, for find: (Received) throws -> Found?
    ) throws -> Found {
        for (index, event) in waiting.enumerated() {
            guard let found = try find(event) else { continue }
            waiting.remove(at: index)
            return found
        }
        let deadline = ContinuousClock.now + limit
        while true {
            let event = try nextFromSocket(until: deadline, what)
            if let found = try find(event) { return found }
            waiting.append(event)
        }
    }

    /// Waits until the daemon closes the connection, and returns the remaining events.
    func waitForEnd(within limit: Duration = patience) throws -> [Received] {
        var events = waiting
        waiting = []
        let deadline = ContinuousClock.now + limit
        do {
            while true { events.append(try nextFromSocket(until: deadline, "the connection's end")) }
        } catch is ConnectionEnded {
            return events
        }
    }

    private func nextFromSocket(until deadline: ContinuousClock.Instant, _ what: String) throws -> Received {
        while true {
            if let event = try reader.next() { return event }
            if hasEnded { throw ConnectionEnded() }
            try socket.wait(for: POLLIN, until: deadline) {
                "timed out waiting for \(what); the last frames are \(waiting.suffix(3))"
            }
            try receive()
        }
    }

    private func receive() throws {
        var bytes: [UInt8] = []
        if try !socket.read(into: &bytes) { hasEnded = true }
        reader.append(bytes)
    }
}
