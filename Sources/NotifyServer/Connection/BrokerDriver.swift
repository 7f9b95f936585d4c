import Logging
import NIOCore
import NotifyBroker
import NotifyLog
import NotifyStore
import NotifyWire

/// The host of the broker in the daemon: runs the broker on one event loop, with NIO channels as sinks and the store as
/// log.
///
/// Events are passed to the broker as they arrive; the tick runs once per turn of the loop.
final class BrokerDriver: BrokerHost {
    let core: BrokerCore
    let store: any LogStore
    let eventLoop: any EventLoop
    let notifier: ServiceManagerNotifier
    let logger: Logger
    let clock: () -> BrokerTime
    var loopClock = LoopClock()
    /// The retention policy of the store.
    var retention: RetentionPolicy
    /// The handlers of the connections, indexed by slot.
    private(set) var handlers: ContiguousArray<ConnectionHandler?> = []
    private var tickSchedule = TickSchedule()
    /// Limits how many connections end before an interim turn, in which the driver reads from the others and runs a
    /// tick while events of the poll are left: see ``runInterimTurn()``.
    var endings = EndingBudget()
    /// The connections that interim turns have read since the event loop last polled.
    var readAhead: [ConnectionHandler] = []
    /// The slot at which the next interim turn begins to read.
    var nextReadAhead = 0
    /// Requests a call of ``wokenUp()`` when the event loop next polls for events. Must be set before ``start()``.
    var requestWakeUp: () -> Void = {}
    /// Whether the broker's deadline has passed.
    var isDeadlineReached = false
    /// Requests a reload for a client. ``reloadEnded(_:for:request:)`` answers the client.
    var requestReload: (ConnectionID, _ request: UInt64) -> Void = { _, _ in }
    /// Whether the current tick has left work for the next turn.
    var isWorkLeft = false
    /// Limits how much all connections read in a turn of the loop.
    var readBudget = ReadBudget()
    private var readBuffer = ReadBuffer()
    private var memoryTrimmer = MemoryTrimmer()
    var leftSockets = LeftSockets()
    /// The metrics that ``updateMetrics()`` reports; nil if no backend collects them.
    var metrics: DaemonMetrics?
    var timer: (deadline: Duration, task: Scheduled<Void>)?
    var readiness: EventLoopPromise<Void>?
    var drain = Drain()
    private var isDrained = false
    var repairs = LogRepairs()
    /// The reason why stored posts are refused; nil while storage works.
    var problem: String?

    init(
        broker: consuming Broker, store: any LogStore, retention: RetentionPolicy, eventLoop: any EventLoop,
        notifier: ServiceManagerNotifier, logger: Logger, clock: @escaping () -> BrokerTime = BrokerTime.now
    ) {
        core = BrokerCore(broker)
        self.store = store
        self.retention = retention
        self.eventLoop = eventLoop
        self.notifier = notifier
        self.logger = logger
        self.clock = clock
    }

    // MARK: Lifecycle

    /// Reserves the first sequences. Connections may be opened once the future succeeds. If the disk is full or the log
    /// is damaged, the future succeeds without a reservation, because volatile posts can still be served.
    func start() -> EventLoopFuture<Void> {
        let readiness = eventLoop.makePromise(of: Void.self)
        self.readiness = readiness
        observeDeletions()
        store.setPolicy(core.broker.policy)
        if core.broker.isLogDamaged {
            self.readiness = nil
            readiness.succeed()
        }
        scheduleTick()
        return readiness.futureResult
    }

    /// The lowest sequence never used, which the store records on a clean stop.
    var nextSequence: UInt64 { core.broker.nextSequence }

    func updateMetrics() {
        metrics?.update(core.counters(now: now))
        mayWait()
    }

    // MARK: Events

    func connectionOpened(_ peer: Peer, handler: ConnectionHandler) -> ConnectionID {
        let id = core.broker.connectionOpened(peer, now: now)
        while handlers.count <= id.slot.index { handlers.append(nil) }
        handlers[id.slot.index] = handler
        eventReceived()
        return id
    }

    func continueReceiving(_ id: ConnectionID) { sink(id)?.continueReceiving() }

    /// Takes the buffer for a read from one of the user's connections. The caller must return it with
    /// ``releaseReadBuffer(_:)``.
    ///
    /// - Parameter isReadingToEnd: Whether the channel reads without pause to the end of its stream. In that case the
    ///   buffer is as large as possible, because many small reads take longer.
    func takeReadBuffer(for uid: UInt32, isReadingToEnd: Bool) -> ByteBuffer {
        readBuffer.take(
            limit: isReadingToEnd
                ? ReadBuffer.capacity : min(ReadBuffer.capacity, readBudget.limit, core.readLimit(of: uid)))
    }

    func releaseReadBuffer(_ buffer: ByteBuffer) { readBuffer.release(buffer) }

    /// Passes received bytes to the broker. The caller must call ``eventReceived()`` afterwards.
    ///
    /// - Returns: The number of bytes consumed.
    func bytesReceived(_ bytes: UnsafeRawBufferPointer, from id: ConnectionID) -> Int {
        core.broker.bytesReceived(bytes, from: id, now: now)
    }

    /// Notes that the connection was read ahead of its channel. ``endReadingAhead()`` lets the channel read again.
    func hasReadAhead(_ handler: ConnectionHandler) { readAhead.append(handler) }

    func connectionWritable(_ id: ConnectionID) {
        core.broker.connectionWritable(id)
        eventReceived()
    }

    /// Notes that the peer has shut down its direction.
    ///
    /// - Returns: Whether to discard the received bytes that are not processed.
    func inputEnded(_ id: ConnectionID) -> Bool {
        let bytes = core.broker.waitingBytes(of: id)
        let isDiscarded = core.broker.inputEnded(id, now: now)
        eventReceived()
        countEnding(afterReading: bytes)
        return isDiscarded
    }

    func connectionClosed(_ id: ConnectionID) {
        core.broker.connectionClosed(id, now: now)
        if handlers[id.slot.index]?.id == id { handlers[id.slot.index] = nil }
        eventReceived()
        countEnding()
    }

    private func countEnding(afterReading bytes: Int = 0) {
        endings.connectionEnded(afterReading: bytes)
        if endings.isUsedUp, !tickSchedule.isTicking { runInterimTurn() }
    }

    // MARK: The tick

    /// Schedules a tick. Must be called after each event that the poll has reported. A call within a tick does not
    /// count as an event of the poll.
    func eventReceived() {
        tickSchedule.eventReceived()
        scheduleTick()
    }

    /// Schedules a tick, before or after the next poll.
    func scheduleTick() { perform(tickSchedule.request()) }

    private func perform(_ request: TickSchedule.Request?) {
        switch request {
        case .beforePoll:
            let loopBound = NIOLoopBound(self, eventLoop: eventLoop)
            eventLoop.execute { loopBound.value.scheduledTick() }
        case .afterPoll: requestWakeUp()
        case nil: break
        }
    }

    private func scheduledTick() {
        tickSchedule.scheduledTickBegan()
        endReadingAhead()
        tick()
    }

    func tick() {
        tickSchedule.isTicking = true
        defer { tickSchedule.isTicking = false }
        readBudget.turnBegan()
        endings.turnBegan()
        // A reload may have changed the level.
        core.broker.logDetail = LogDetail(logger.logLevel)
        if isDeadlineReached {
            isDeadlineReached = false
            core.broker.deadlinePassed(now: now)
        }
        runTick()
        tickEnded()
    }

    /// Closes flushed connections while draining, trims malloc, and requests another tick if work is left. The
    /// requested tick runs after the events that arrived during the current tick.
    private func tickEnded() {
        if isDrained { closeFlushedConnections() }
        if let later = memoryTrimmer.trimIfNeeded(bytesInUse: core.chargedBytes, now: now.monotonic) {
            wake(at: later)
        }
        if releaseLeftSockets() { isWorkLeft = true }
        if isWorkLeft { scheduleNextTurn() }
        isWorkLeft = false
        mayWait()
    }

    /// Schedules a tick after the event loop has polled for events.
    func scheduleNextTurn() { perform(tickSchedule.requestAfterPoll()) }

    /// Schedules the tick that ``requestWakeUp`` asked for.
    func wokenUp() {
        tickSchedule.wokenUp()
        drain.turnBegan()
        eventReceived()
    }

    func perform(_ action: BrokerAction) {
        switch action {
        case .commit(let batch): commit(batch)
        case .readPage(let request): readPage(request)
        case .readRedeliveries(let request): readRedeliveries(request)
        case .store(let work, let ticket): request(work, ticket)
        case .close(let id): sink(id)?.close()
        case .pauseReading(let id): sink(id)?.setReading(false)
        case .resumeReading(let id): sink(id)?.setReading(true)
        case .storageHealthChanged(let problem): reportHealth(problem)
        case .reload(let id, let request): requestReload(id, request)
        case .scheduleTick: isWorkLeft = true
        case .log(let event): logger.log(event)
        case .warn(let text): logger.warning("\(text)")
        case .drained: isDrained = true
        }
    }

    func sequencesUsed(below next: UInt64) { store.sequencesUsed(below: next) }

    // MARK: Connections

    func sink(_ id: ConnectionID) -> ConnectionHandler? {
        guard let handler = handlers[id.slot.index], handler.id == id else { return nil }
        return handler
    }
}
