import Logging
import NIOCore
import NIOEmbedded
import NotifyBroker
import NotifyLog
import NotifyWire
import Synchronization
import Testing
import WireTestSupport

@testable import NotifyServer

/// A driver on an embedded event loop, with a store and a clock that the test controls.
final class DriverHarness {
    let loop = EmbeddedEventLoop()
    let store = ManualStore()
    let log: CapturedLog
    let driver: BrokerDriver
    private let clock = ManualTime()
    private var isWakeUpRequested = false

    init(isStarted: Bool = true, level: Logger.Level = .info) {
        let log = CapturedLog(level: level)
        self.log = log
        let clock = clock
        driver = Self.makeDriver(on: loop, store: store, log: log) { clock.now }
        driver.requestWakeUp = { [unowned self] in isWakeUpRequested = true }
        guard isStarted else { return }
        _ = driver.start()
        run()
        store.answerCommit()
        run()
    }

    /// Makes a driver with an empty log.
    static func makeDriver(
        on loop: any EventLoop, store: ManualStore, log: CapturedLog,
        clock: @escaping () -> BrokerTime = BrokerTime.now
    ) -> BrokerDriver {
        let recovered = RecoveredLog(
            nextSequence: 1, persistedThrough: 0, subscriptions: [], wasClosedCleanly: true,
            nextSubscriptionID: DurableID(1))
        let broker = Broker(
            configuration: BrokerConfiguration(), recovered: recovered,
            daemon: .init(
                version: "1.2.3", instance: .random(), started: clock(),
                process: Peer(identity: Identity(uid: 9, gid: 9), pid: 9)))
        return BrokerDriver(
            broker: broker, store: store, retention: RetentionPolicy(), eventLoop: loop,
            notifier: ServiceManagerNotifier(context: context(user: 1000, process: 1)),
            logger: Logger(label: "notifyd") { _ in CapturedLogHandler(log: log) }, clock: clock)
    }

    /// Runs the loop until no task is due, and polls until there are no events.
    func run() {
        loop.run()
        while isWakeUpRequested {
            isWakeUpRequested = false
            driver.wokenUp()
            loop.run()
        }
    }

    /// Advances the time in steps, so that the loop wakes up at the times that it has requested.
    func advance(_ duration: Duration) {
        var left = duration
        while left > .zero {
            let step = min(left, LoopClock.tolerance)
            clock.now.monotonic += step
            loop.advanceTime(by: TimeAmount(step))
            run()
            left -= step
        }
    }

    /// Advances the time in one step, as if the process were stopped and continued.
    func standStill(_ duration: Duration) {
        clock.now.monotonic += duration
        loop.advanceTime(by: TimeAmount(duration))
        run()
    }

    /// Advances the clock alone, as if the process were stopped and continued while the loop handles events.
    func standStillWithinTurn(_ duration: Duration) { clock.now.monotonic += duration }

    /// Advances the clock without running the loop, as during a long tick that reads the clock.
    func takeTime(_ duration: Duration) {
        var left = duration
        while left > .zero {
            clock.now.monotonic += min(left, LoopClock.tolerance)
            left -= LoopClock.tolerance
            _ = driver.now
        }
    }

    func connect(uid: UInt32 = 1000, pid: UInt32 = 77, greets: Bool = true) throws -> DriverClient {
        let peer = Peer(identity: Identity(uid: uid, gid: uid), pid: pid)
        let flushes = FlushCounter()
        let channel = EmbeddedChannel(loop: loop)
        try channel.pipeline.syncOperations.addHandlers([flushes, ConnectionHandler(driver: driver, peer: peer)])
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/socket")).wait()
        let client = DriverClient(channel: channel, flushes: flushes)
        if greets {
            try client.send(Hello(instance: .random()))
            run()
            #expect(try client.take() == [.welcome])
            flushes.count = 0
        }
        return client
    }
}

/// The current time of a harness.
private final class ManualTime {
    var now = BrokerTime(monotonic: .seconds(1), wallMicroseconds: 1_700_000_000_000_000)
}

/// The peer of an embedded channel.
final class DriverClient {
    let channel: EmbeddedChannel
    let flushes: FlushCounter
    private var received = FrameReader()

    init(channel: EmbeddedChannel, flushes: FlushCounter) {
        self.channel = channel
        self.flushes = flushes
    }

    func send(_ frame: some ControlFrame) throws { try send(frame.encoded) }

    func send(_ bytes: [UInt8]) throws {
        try channel.writeInbound(ByteBuffer(bytes: bytes))
    }

    func send(
        post name: String, request: UInt64, _ durability: Durability = .volatile, receipt: Bool = false
    ) throws {
        var buffer = ByteBuffer()
        withParts(name: name) {
            Post(request: request, durability: durability, wantsReceipt: receipt, parts: $0).append(to: &buffer)
        }
        try channel.writeInbound(buffer)
    }

    /// Returns the next answer to a reload; nil if none was written to the channel.
    func takeReloaded() throws -> Reloaded? {
        try readOutbound()
        while let reloaded = try received.next({ try $0.kind == FrameKind.reloaded.rawValue ? Reloaded($0) : nil }) {
            if let reloaded { return reloaded }
        }
        return nil
    }

    private func readOutbound() throws {
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { received.append(bytes) }
    }

    /// Returns the kinds of the frames written to the channel since the last call.
    func take() throws -> [FrameKind] {
        try readOutbound()
        var kinds: [FrameKind] = []
        while let kind = try received.next({ FrameKind(rawValue: $0.kind) }) {
            if let kind { kinds.append(kind) }
        }
        return kinds
    }
}

/// Counts flushes, and calls `onFlush` after each.
final class FlushCounter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    var count = 0
    var onFlush: (ChannelHandlerContext) -> Void = { _ in }
    /// Whether written bytes count as waiting for the socket.
    var isSocketFull = false { didSet { if !isSocketFull { endWrites() } } }
    private var waiting: [EventLoopPromise<Void>] = []

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard isSocketFull, let promise else { return context.write(data, promise: promise) }
        waiting.append(promise)
        context.write(data, promise: nil)
    }

    private func endWrites() {
        let promises = waiting
        waiting = []
        for promise in promises { promise.succeed() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        for promise in waiting { promise.fail(ChannelError.ioOnClosedChannel) }
        waiting = []
    }

    func flush(context: ChannelHandlerContext) {
        count += 1
        context.flush()
        onFlush(context)
    }
}

/// Log records as "level message key=value …".
final class CapturedLog: Sendable {
    let level: Mutex<Logger.Level>
    private let records = Mutex<[String]>([])

    init(level: Logger.Level) {
        self.level = Mutex(level)
    }

    var lines: [String] { records.withLock { $0 } }

    func append(_ line: String) {
        records.withLock { $0.append(line) }
    }
}

struct CapturedLogHandler: LogHandler {
    let log: CapturedLog
    var metadata: Logger.Metadata = [:]

    init(log: CapturedLog) {
        self.log = log
    }

    var logLevel: Logger.Level {
        get { log.level.withLock { $0 } }
        set { log.level.withLock { $0 = newValue } }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let details = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        log.append("\(event.level) \(event.message)\(details)")
    }
}
