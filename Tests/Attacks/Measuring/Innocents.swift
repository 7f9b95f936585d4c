import NotifyWire

/// A poster and a subscriber that use the daemon as they should.
///
/// The poster posts at a rate; the subscriber checks that each message comes once, in order. Both are served by one loop.
final class Innocents {
    private static let name = "innocent.news"
    private static let payload = 64
    /// Posts that were not delivered yet, at most: about what the daemon keeps for the subscriber.
    private static let window = 8192

    let poster: Link
    let subscriber: Link
    private var block = PostBlock(names: [String](repeating: name, count: 256), payload: payload)
    private(set) var posted = 0
    private(set) var delivered = 0
    private(set) var lost = 0
    private(set) var disordered = 0
    /// What the daemon refused last.
    private(set) var refusal: String?
    private var last: UInt64 = 0
    private var expected: UInt64 = 0

    init(_ socket: String) throws {
        poster = try Link(socket)
        subscriber = try Link(socket)
        poster.onFrame = { [unowned self] kind, body in
            if kind == FrameKind.error.rawValue { refused(body) }
        }
        subscriber.onFrame = { [unowned self] kind, body in
            if kind == FrameKind.deliver.rawValue { received(body) }
        }
        subscriber.write(
            Subscribe(request: subscriber.newRequest(), subscription: 1, patterns: [Self.name]))
        guard Link.serve([poster, subscriber], until: { subscriber.scanner.count(.subscribed) == 1 }) else {
            throw HarnessError("the innocent subscriber was not let in")
        }
    }

    var links: [Link] { [poster, subscriber] }

    /// Sequence u64 at 0, the lengths of headers, name, object and id at 28 to 32, the parts at 36.
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
        var cursor = WireCursor(body)
        if let error = try? ErrorFrame(flags: 0, reading: &cursor) { refusal = error.message }
    }

    /// Posts so many at most, as far as the window and the socket allow.
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

    /// Posts as fast as possible for so long.
    ///
    /// - Returns: Deliveries a second.
    func measureCapacity(for time: Duration = .seconds(3)) -> Double {
        let begin = ContinuousClock.now
        let before = delivered
        while ContinuousClock.now - begin < time {
            post(atMost: block.count)
            Link.serve(links, waitingMilliseconds: 1)
        }
        let seconds = (ContinuousClock.now - begin) / .seconds(1)
        let rate = Double(delivered - before) / seconds
        settle()
        return rate
    }

    /// Waits until everything posted has been delivered, or it is clear that it will not be.
    func settle(within limit: Duration = .seconds(30)) {
        Link.serve(links, within: limit) { poster.isFlushed && delivered + lost >= posted }
        lost += posted - delivered - lost
    }
}
