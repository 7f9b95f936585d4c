import Logging
import NIOCore
import NotifyBroker
import NotifyStore
import NotifyLog
import NotifyWire

/// Carries out what the broker decides, on the one event loop where everything is routed.
///
/// Events go in as they come; once per loop tick the broker finishes, its actions are performed, and each touched
/// connection is flushed once. No effect happens while the broker is being changed, as effects may call back.
final class BrokerDriver {
    private var broker: Broker
    private let store: Store
    private let eventLoop: any EventLoop
    private let notifier: ServiceManagerNotifier
    private let logger: Logger
    /// By the connection's slot.
    private var handlers: ContiguousArray<ConnectionHandler?> = []
    private var isTickScheduled = false
    private var timer: (deadline: Duration, task: Scheduled<Void>)?
    private var readiness: EventLoopPromise<Void>?
    private var drained: EventLoopPromise<Void>?
    private var isDrained = false

    init(
        broker: consuming Broker, store: Store, eventLoop: any EventLoop, notifier: ServiceManagerNotifier,
        logger: Logger
    ) {
        self.broker = broker
        self.store = store
        self.eventLoop = eventLoop
        self.notifier = notifier
        self.logger = logger
    }

    // MARK: Life

    /// Reserves the first sequences. Connections may be opened when the future succeeds.
    func start() -> EventLoopFuture<Void> {
        let readiness = eventLoop.makePromise(of: Void.self)
        self.readiness = readiness
        scheduleTick()
        return readiness.futureResult
    }

    /// Commits what is pending, tells every client and closes. The future succeeds when all is flushed, or `limit` over.
    func drain(within limit: Duration) -> EventLoopFuture<Void> {
        let drained = eventLoop.makePromise(of: Void.self)
        self.drained = drained
        broker.drainRequested()
        scheduleTick()
        let loopBound = NIOLoopBound(self, eventLoop: eventLoop)
        let deadline = eventLoop.scheduleTask(in: TimeAmount(limit)) {
            loopBound.value.logger.warning("not everything was flushed within \(limit)")
            loopBound.value.finishDrain()
        }
        return drained.futureResult.always { _ in deadline.cancel() }
    }

    /// The mark for a clean stop.
    var nextSequence: UInt64 { broker.nextSequence }

    private func finishDrain() {
        for handler in handlers {
            handler?.close()
        }
        timer?.task.cancel()
        timer = nil
        drained?.succeed()
        drained = nil
    }

    // MARK: Events

    func connectionOpened(_ peer: Peer, handler: ConnectionHandler) -> ConnectionID {
        let id = broker.connectionOpened(peer, now: .now())
        let slot = Int(id.slot)
        while handlers.count <= slot { handlers.append(nil) }
        handlers[slot] = handler
        scheduleTick()
        return id
    }

    func bytesReceived(_ bytes: UnsafeRawBufferPointer, from id: ConnectionID) -> Int {
        let used = broker.bytesReceived(bytes, from: id, now: .now())
        scheduleTick()
        return used
    }

    func connectionWritable(_ id: ConnectionID) {
        broker.connectionWritable(id)
        scheduleTick()
    }

    func connectionClosed(_ id: ConnectionID) {
        broker.connectionClosed(id)
        if handlers[Int(id.slot)]?.id == id { handlers[Int(id.slot)] = nil }
        scheduleTick()
    }

    // MARK: The tick

    private func scheduleTick() {
        guard !isTickScheduled else { return }
        isTickScheduled = true
        let loopBound = NIOLoopBound(self, eventLoop: eventLoop)
        eventLoop.execute { loopBound.value.tick() }
    }

    private func tick() {
        isTickScheduled = false
        broker.finishTick(now: .now())
        performActions()
        for id in broker.takeTouchedConnections() {
            flush(id)
        }
        performActions()
        if isDrained { closeFlushedConnections() }
        scheduleTimer()
    }

    /// Hands over what the socket has room for.
    private func flush(_ id: ConnectionID) {
        guard let handler = handlers[Int(id.slot)], handler.id == id else { return }
        var hasWritten = false
        while handler.hasRoom, let bytes = broker.nextOutput(for: id) {
            handler.write(bytes)
            hasWritten = true
        }
        broker.settle(id, now: .now())
        if broker.isClosing(id), broker.isFlushed(id) {
            handler.closeWhenFlushed()
        } else if hasWritten {
            handler.flush()
        }
    }

    /// Every client has been told that the daemon goes: each is closed once it has taken what is left for it.
    private func closeFlushedConnections() {
        var areAllClosed = true
        for handler in handlers {
            guard let handler, let id = handler.id else { continue }
            areAllClosed = false
            if broker.isFlushed(id) { handler.closeWhenFlushed() }
        }
        if areAllClosed { finishDrain() }
    }

    private func performActions() {
        for action in broker.takeActions() {
            perform(action)
        }
    }

    private func perform(_ action: BrokerAction) {
        switch action {
        case .commit(let batch):
            let loopBound = NIOLoopBound(self, eventLoop: eventLoop)
            store.commit(batch) { [eventLoop] outcome in
                eventLoop.execute { loopBound.value.committed(outcome) }
            }
        case .readPage(let request):
            let loopBound = NIOLoopBound(self, eventLoop: eventLoop)
            store.readPage(request) { [eventLoop] page in
                eventLoop.execute { loopBound.value.pageRead(page) }
            }
        case .close(let id): handler(id)?.close()
        case .pauseReading(let id): handler(id)?.setReading(false)
        case .resumeReading(let id): handler(id)?.setReading(true)
        case .storageHealthChanged(let problem): reportHealth(problem)
        case .continueSoon: scheduleTick()
        case .drained: isDrained = true
        }
    }

    private func handler(_ id: ConnectionID) -> ConnectionHandler? {
        guard let handler = handlers[Int(id.slot)], handler.id == id else { return nil }
        return handler
    }

    private func committed(_ outcome: CommitOutcome) {
        broker.committed(outcome, now: .now())
        if let readiness {
            self.readiness = nil
            switch outcome.result {
            case .success: readiness.succeed()
            case .failure(let failure): readiness.fail(failure)
            }
        }
        scheduleTick()
    }

    private func pageRead(_ page: Page) {
        broker.pageRead(page, now: .now())
        scheduleTick()
    }

    private func reportHealth(_ problem: String?) {
        if let problem {
            logger.error("stored posts are refused: \(problem)")
            notifier.status("degraded: \(problem)")
        } else {
            logger.notice("storage works again")
            notifier.status("running")
        }
    }

    // MARK: Deadlines

    /// Sets the timer where the broker's next deadline is before the one that is set.
    private func scheduleTimer() {
        guard let deadline = broker.nextDeadline, timer.map({ deadline < $0.deadline }) ?? true else { return }
        timer?.task.cancel()
        let delay = max(.zero, deadline - Moment.now().monotonic)
        let loopBound = NIOLoopBound(self, eventLoop: eventLoop)
        let task = eventLoop.scheduleTask(in: TimeAmount(delay)) { loopBound.value.deadlinePassed() }
        timer = (deadline, task)
    }

    private func deadlinePassed() {
        timer = nil
        broker.deadlinePassed(now: .now())
        tick()
    }
}
