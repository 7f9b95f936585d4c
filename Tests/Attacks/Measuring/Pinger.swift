import NotifyWire

/// Pings the daemon, one ping after another.
///
/// Two times are kept of each: that on the clock, and how long the daemon's event loop ran on a processor meanwhile. The
/// latter is what the daemon did before it answered. It does not grow when other processes, such as those of other tests,
/// take the processors away, so limits are about it.
final class Pinger {
    private static let interval = Duration.milliseconds(10)

    let link: Link
    private let loop: LoopThread
    private var begin = ContinuousClock.now
    private var processorBegin = Duration.zero
    private var isWaiting = false
    private(set) var count = 0
    private(set) var worst = Duration.zero
    private(set) var worstOfProcessor = Duration.zero

    init(_ socket: String, _ loop: LoopThread) throws {
        link = try Link(socket)
        self.loop = loop
        link.onFrame = { [unowned self] kind, _ in
            if kind == FrameKind.pong.rawValue { answered() }
        }
    }

    /// Sends the next ping when it is due.
    func step() {
        guard !isWaiting, ContinuousClock.now - begin >= Self.interval else { return }
        processorBegin = loop.processorTime
        begin = .now
        isWaiting = true
        link.write(Ping(request: link.newRequest()))
        link.flush()
    }

    private func answered() {
        isWaiting = false
        count += 1
        worst = max(worst, ContinuousClock.now - begin)
        worstOfProcessor = max(worstOfProcessor, loop.processorTime - processorBegin)
    }

    /// Counts a ping that has no answer yet, as it has waited for so long already.
    func finish() {
        if isWaiting { answered() }
    }
}
