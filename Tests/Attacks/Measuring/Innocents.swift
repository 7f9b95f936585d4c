import NotifyWire

/// Two well-behaved clients whose service must not suffer from the attacks: a poster and a subscriber.
///
/// The subscriber checks that each message arrives once and in order. One loop serves both connections.
final class Innocents {
    private static let name = "innocent.news"
    private static let payload = 64
    /// The maximum number of undelivered posts, about as many as the subscriber's outbox in the daemon can hold.
    private static let window = 8192

    let poster: Connection
    let subscriber: Connection
    private var block = PostBlock(names: [String](repeating: name, count: 256), payload: payload)
    private(set) var posted = 0
    private(set) var delivered = 0
    private(set) var lost = 0
    private(set) var disordered = 0
    /// The message of the last error from the daemon.
    private(set) var refusal: String?
    private var last: UInt64 = 0
    private var expected: UInt64 = 0

    init(_ socket: String) throws {
        poster = try Connection(socket)
        subscriber = try Connection(socket)
        poster.onFrame = { [unowned self] kind, body in
            if kind == FrameKind.error.rawValue { refused(body) }
        }
        subscriber.onFrame = { [unowned self] kind, body in
            if kind == FrameKind.deliver.rawValue { received(body) }
        }
        subscriber.write(
            Subscribe(request: subscriber.newRequest(), subscription: 1, patterns: [Self.name]))
        guard Connection.serve([poster, subscriber], until: { subscriber.scanner.count(.subscribed) == 1 }) else {
            throw HarnessError("the daemon refused the innocent subscriber")
        }
    }

    var connections: [Connection] { [poster, subscriber] }

    /// Checks a delivery. Offsets in the body: the sequence (u64) at 0; the lengths of the headers (u16) at 28 and of
    /// the name, object and id (u8 each) at 30, 31 and 32; these four parts from 36, followed by the payload.
    private func received(_ body: UnsafeRawBufferPointer) {
        let sequence = UInt64(littleEndian: body.loadUnaligned(as: UInt64.self))
        let headers = Int(UInt16(littleEndian: body.loadUnaligned(fromByteOffset: 28, as: UInt16.self)))
        let payload = 36 + headers + Int(body[30]) + Int(body[31]) + Int(body[32])
        let number = UInt64(littleEndian: body.loadUnaligned(fromByteOffset: payload, as: UInt64.self))
        if sequence <= last || number < expected { disordered += 1 }
        if number > expected { lost += Int(number - expected) }
        expected = number + 1
        last = sequence
        delivered += 1
    }

    private func refused(_ body: UnsafeRawBufferPointer) {
        var reader = FieldReader(body)
        if let error = try? ErrorFrame(flags: 0, reading: &reader) { refusal = error.message }
    }

    /// Posts at most `limit` messages, as far as the window and the socket allow.
    func post(atMost limit: Int) {
        poster.flush()
        var left = min(limit, Self.window - (posted - delivered - lost))
        while left > 0, poster.isFlushed {
            let count = min(left, block.count)
            let request = poster.newRequests(count)
            poster.write(block.numbered(count, request: request, number: UInt64(posted)))
            poster.flush()
            posted += count
            left -= count
        }
    }

    /// Measures the throughput by posting as fast as possible for the given time.
    ///
    /// - Parameter step: Called repeatedly during the measurement.
    /// - Returns: Deliveries per second.
    func measureCapacity(for time: Duration = .seconds(3), _ step: () -> Void) -> Double {
        let begin = ContinuousClock.now
        let before = delivered
        while ContinuousClock.now - begin < time {
            post(atMost: block.count)
            step()
            Connection.serve(connections, waitingMilliseconds: 1)
        }
        let seconds = (ContinuousClock.now - begin) / .seconds(1)
        let rate = Double(delivered - before) / seconds
        settle()
        return rate
    }

    /// Waits until every posted message is delivered. Messages still missing after `limit` count as lost.
    func settle(within limit: Duration = .seconds(30)) {
        Connection.serve(connections, within: limit) { poster.isFlushed && delivered + lost >= posted }
        lost += posted - delivered - lost
    }
}
