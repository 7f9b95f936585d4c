import NotifyWire

/// Pings the daemon, one ping at a time.
///
/// Two durations of each ping are measured: the elapsed time, and the CPU time that the daemon's event-loop thread used
/// until the answer. Limits apply to the CPU time, because it does not grow when other processes, such as other tests,
/// use the CPUs.
final class Pinger {
    private static let interval = Duration.milliseconds(10)

    let connection: Connection
    private let loop: LoopThread
    private var begin = ContinuousClock.now
    private var processorBegin = Duration.zero
    private var isWaiting = false
    private(set) var count = 0
    private(set) var worst = Duration.zero
    private(set) var worstOfProcessor = Duration.zero
    /// The time at which the ping of ``worstOfProcessor`` was sent.
    private(set) var worstBegin = ContinuousClock.now

    init(_ socket: String, _ loop: LoopThread) throws {
        connection = try Connection(socket)
        self.loop = loop
        connection.onFrame = { [unowned self] kind, _ in
            if kind == FrameKind.pong.rawValue { answered() }
        }
    }

    /// Sends the next ping when it is due.
    func step() {
        guard !isWaiting, ContinuousClock.now - begin >= Self.interval else { return }
        processorBegin = loop.processorTime
        begin = .now
        isWaiting = true
        connection.write(Ping(request: connection.newRequest()))
        connection.flush()
    }

    private func answered() {
        isWaiting = false
        count += 1
        worst = max(worst, ContinuousClock.now - begin)
        let work = loop.processorTime - processorBegin
        if work > worstOfProcessor { (worstOfProcessor, worstBegin) = (work, begin) }
    }

    /// Counts a ping that is still unanswered, with its duration so far.
    func finish() {
        if isWaiting { answered() }
    }
}
