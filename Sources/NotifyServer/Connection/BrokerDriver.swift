import Logging
import NIOCore
import NotifyBroker
import NotifyLog
import NotifyStore
import NotifyWire

/// Runs the broker in the daemon: on one event loop, with NIO channels as sinks and the store as log.
///
/// Events are passed to the broker as they arrive; the tick runs once per turn of the loop.
final class BrokerDriver: BrokerHost {
    let core: BrokerCore
    let store: any LogStore
    let eventLoop: any EventLoop
    let notifier: ServiceManagerNotifier
    let logger: Logger
    private let clock: () -> BrokerTime
    /// The retention policy of the store.
    private var retention: RetentionPolicy
    /// Indexed by the connection's slot.
    private var handlers: ContiguousArray<ConnectionHandler?> = []
    private var isTickScheduled = false
    /// Requests a call of ``wokenUp()`` when the event loop next polls for events. Must be set before ``start()``.
    var requestWakeUp: () -> Void = {}
    private var isWakeUpRequested = false
    /// Whether the broker's deadline has passed.
    private var isDeadlineReached = false
    /// Requests a reload for a client. ``reloadEnded(_:for:request:)`` answers the client.
    var requestReload: (ConnectionID, _ request: UInt64) -> Void = { _, _ in }
    /// Whether the current tick has left work for the next turn.
    private var isWorkLeft = false
    /// Limits how much all connections read in a turn of the loop.
    var readBudget = ReadBudget()
    private var readBuffer = ReadBuffer()
    private var memoryTrimmer = MemoryTrimmer()
    /// The metrics that ``updateMetrics()`` reports; nil if no backend collects them.
    var metrics: DaemonMetrics?
    private var timer: (deadline: Duration, task: Scheduled<Void>)?
    var readiness: EventLoopPromise<Void>?
    private var drained: EventLoopPromise<Void>?
    private var isDrained = false
    var isRepairRequested = false
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

    /// Reserves the first sequences. Connections may be opened once the future succeeds. The future also succeeds on a
    /// full disk and without a reservation in a damaged log, because volatile posts can still be served.
    func start() -> EventLoopFuture<Void> {
        let readiness = eventLoop.makePromise(of: Void.self)
        self.readiness = readiness
        observeDeletions()
        if core.broker.isLogDamaged {
            self.readiness = nil
            readiness.succeed()
        }
        scheduleTick()
        return readiness.futureResult
    }

    /// Answers the client that requested a reload.
    func reloadEnded(_ outcome: ReloadOutcome, for id: ConnectionID, request: UInt64) {
        switch outcome {
        case .applied(let pending):
            core.broker.configurationReloaded(for: id, request: request, pendingSettings: pending, error: nil)
        case .invalid(let error):
            core.broker.configurationReloaded(for: id, request: request, pendingSettings: [], error: error)
        }
        scheduleTick()
    }

    /// Applies a valid configuration, and repairs the log if its files were deleted or moved away.
    ///
    /// - Parameters:
    ///   - limits: The new limits; `nil` after an invalid reload.
    ///   - policy: The new policy, whose generation is set here; `nil` after an invalid reload.
    ///   - retention: The new retention policy; `nil` after an invalid reload.
    func reloaded(limits: BrokerConfiguration?, policy: AccessPolicy?, retention: RetentionPolicy?) {
        if let limits { core.broker.configurationChanged(to: limits) }
        // Replacing the policy drops all cached decisions, which is not necessary for an equal policy.
        let current = core.broker.policy
        if let policy, policy.allRules != current.allRules {
            core.broker.policyChanged(to: policy.with(generation: current.generation + 1))
        }
        if let retention, retention != self.retention {
            self.retention = retention
            store.setRetention(retention)
        }
        repairStorage()
        core.broker.storageChanged(now: now)
        scheduleTick()
    }

    /// Commits pending messages, sends `closing` to every client, and closes the connections. The future succeeds when
    /// all output is flushed, or after `limit`.
    func drain(within limit: Duration) -> EventLoopFuture<Void> {
        let drained = eventLoop.makePromise(of: Void.self)
        self.drained = drained
        core.broker.drainRequested()
        scheduleTick()
        let loopBound = NIOLoopBound(self, eventLoop: eventLoop)
        let deadline = eventLoop.scheduleTask(in: TimeAmount(limit)) {
            loopBound.value.logger.warning("draining timed out after \(limit.text): not all output was flushed")
            loopBound.value.finishDrain()
        }
        return drained.futureResult.always { _ in deadline.cancel() }
    }

    /// The lowest sequence never used, which the store records on a clean stop.
    var nextSequence: UInt64 { core.broker.nextSequence }

    private func finishDrain() {
        for handler in handlers {
            handler?.close()
        }
        timer?.task.cancel()
        timer = nil
        drained?.succeed()
        drained = nil
    }

    /// Closes each connection whose outbox is flushed, and ends the drain once no connection is left. Must be called
    /// only after the broker has sent `closing` to every client.
    private func closeFlushedConnections() {
        var areAllClosed = true
        for handler in handlers {
            guard let handler, let id = handler.id else { continue }
            areAllClosed = false
            if core.broker.isFlushed(id) { handler.closeWhenFlushed() }
        }
        if areAllClosed { finishDrain() }
    }

    func updateMetrics() { metrics?.update(core.counters(now: now)) }

    // MARK: Events

    func connectionOpened(_ peer: Peer, handler: ConnectionHandler) -> ConnectionID {
        let id = core.broker.connectionOpened(peer, now: now)
        while handlers.count <= id.slot.index { handlers.append(nil) }
        handlers[id.slot.index] = handler
        scheduleTick()
        return id
    }

    func continueReceiving(_ id: ConnectionID) { sink(id)?.continueReceiving() }

    /// Takes the buffer for a read from one of the user's connections. The caller must return it with
    /// ``releaseReadBuffer(_:)``.
    ///
    /// - Parameter isReadingToEnd: Whether the channel reads without pause to the end of its stream. Then the buffer is
    ///   as large as possible, because many small reads take longer.
    func takeReadBuffer(for uid: UInt32, isReadingToEnd: Bool) -> ByteBuffer {
        readBuffer.take(
            limit: isReadingToEnd
                ? ReadBuffer.capacity : min(ReadBuffer.capacity, readBudget.limit, core.readLimit(of: uid)))
    }

    func releaseReadBuffer(_ buffer: ByteBuffer) { readBuffer.release(buffer) }

    /// Passes received bytes to the broker. The caller must schedule a tick afterwards.
    ///
    /// - Returns: The number of bytes consumed.
    func bytesReceived(_ bytes: UnsafeRawBufferPointer, from id: ConnectionID) -> Int {
        core.broker.bytesReceived(bytes, from: id, now: now)
    }

    func connectionWritable(_ id: ConnectionID) {
        core.broker.connectionWritable(id)
        scheduleTick()
    }

    func connectionClosed(_ id: ConnectionID) {
        core.broker.connectionClosed(id, now: now)
        if handlers[id.slot.index]?.id == id { handlers[id.slot.index] = nil }
        scheduleTick()
    }

    // MARK: The tick

    var now: BrokerTime { clock() }

    func scheduleTick() {
        guard !isTickScheduled else { return }
        isTickScheduled = true
        let loopBound = NIOLoopBound(self, eventLoop: eventLoop)
        eventLoop.execute { loopBound.value.tick() }
    }

    private func tick() {
        isTickScheduled = false
        readBudget.turnBegan()
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
        if isWorkLeft { scheduleNextTurn() }
        isWorkLeft = false
    }

    /// Schedules a tick after the event loop has polled for events.
    private func scheduleNextTurn() {
        guard !isTickScheduled, !isWakeUpRequested else { return }
        isWakeUpRequested = true
        requestWakeUp()
    }

    /// Schedules the tick that ``requestWakeUp`` asked for.
    func wokenUp() {
        isWakeUpRequested = false
        scheduleTick()
    }

    /// Sets the timer, unless it is already set to an earlier deadline. A deadline that has passed counts with the next
    /// tick, after the event loop has polled unless a tick is scheduled already. The loop runs tasks that are due until
    /// there are none, without polling: while ticks take longer than the time between two deadlines, a timer for each
    /// would let no client be served.
    func wake(at deadline: Duration) {
        guard timer.map({ deadline < $0.deadline }) ?? true else { return }
        let delay = deadline - now.monotonic
        guard delay > .zero else {
            isDeadlineReached = true
            return scheduleNextTurn()
        }
        timer?.task.cancel()
        let loopBound = NIOLoopBound(self, eventLoop: eventLoop)
        let task = eventLoop.scheduleTask(in: TimeAmount(delay)) { loopBound.value.timeReached() }
        timer = (deadline, task)
    }

    private func timeReached() {
        timer = nil
        isDeadlineReached = true
        scheduleTick()
    }

    func perform(_ action: BrokerAction) {
        switch action {
        case .commit(let batch): commit(batch)
        case .readPage(let request): readPage(request)
        case .readRedeliveries(let request): readRedeliveries(request)
        case .findSequence(let microseconds): findSequence(atOrAfter: microseconds)
        case .measureBacklogs: measureBacklogs()
        case .checkLog: checkLog()
        case .summarize(let request): summarize(request)
        case .beginBackup(let number, let target): beginBackup(number, target: target)
        case .readBackup(let number, let offset, let bytes): readBackup(number, from: offset, maximumBytes: bytes)
        case .endBackup: store.endBackup()
        case .purge(let request): purge(request)
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
