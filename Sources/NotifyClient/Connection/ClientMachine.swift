import DequeModule
import NIOCore
import NotifyWire

/// Everything that the client decides: the connection, what is asked over it, what comes from it.
///
/// Each event changes the machine, appends what is to be written to `outgoing`, and puts the rest of what follows into
/// `Effects`. It does no I/O, takes no lock and reads no clock.
struct ClientMachine: ~Copyable {
    /// What was sent and waits for its answer.
    enum PendingRequest {
        case post(NotifyClient.OutgoingMessage, PostWaiter)
        case subscribe(UInt32)
        case detach(UInt32)
        case call(Call)
        /// The last question before the client goes.
        case farewell
    }

    /// What the welcome said.
    struct Terms {
        var maximumPayloadBytes = Limits.defaultPayloadBytes
        var maximumWindow = Limits.maximumWindow
        var daemonVersion = ""
    }

    /// Posts are encoded while less than this waits to be written.
    static let outgoingBytes = 1 << 20

    let settings: NotifyClient.Configuration
    let instance: ClientInstance

    var link: ClientConnectionMachine
    var requests = RequestTable<PendingRequest>()
    var posts = PendingPosts()
    var waitingCalls: [(call: Call, deadline: Duration)] = []
    var subscriptions = SubscriptionTable()
    var router = DeliveryRouter()
    var flow = FlowControl()
    var terms = Terms()
    /// Frames to write.
    var outgoing = ByteBuffer()
    /// Those with acknowledgements to send.
    var pendingLedgers: [AcknowledgementLedger] = []
    /// Callers that wait for the end of the client.
    var endWaiters: [ReplySlot<Void>] = []
    /// Callers that wait for the end of the client as a service, which may come earlier.
    var serviceWaiters: [ReplySlot<Void>] = []
    /// Set when the client was shut down gracefully while subscriptions were open.
    var shutdown: GracefulShutdown?

    init(_ settings: NotifyClient.Configuration, instance: ClientInstance) {
        self.settings = settings
        self.instance = instance
        link = ClientConnectionMachine(settings.linkSettings)
    }

    /// When `timeReached` has something to do.
    var deadline: Duration? {
        var earliest = link.deadline
        for other in [
            posts.nextDeadline, subscriptions.nextDeadline, flow.reportDeadline, shutdown?.nextDeadline,
            waitingCalls.lazy.map(\.deadline).min(),
        ] {
            guard let other else { continue }
            earliest = min(earliest ?? other, other)
        }
        return earliest
    }

    /// Whether there is something to write.
    var hasOutgoing: Bool { outgoing.readableBytes > 0 || !pendingLedgers.isEmpty || flow.isReportDue }
}

// MARK: - Connecting

extension ClientMachine {
    mutating func start(_ effects: inout Effects) {
        switch link.start() {
        case .connect: effects.channel = .connect
        case .none: break
        }
    }

    mutating func connected(now: Duration, _ effects: inout Effects) {
        switch link.connected(now: now) {
        case .greet:
            Hello(overflow: OverflowPolicy(settings.overflow), instance: instance).write(to: &outgoing)
        case .close:
            effects.channel = .close
        }
    }

    mutating func connectFailed(
        _ error: NotifyError, queueIsFull: Bool = false, now: Duration, jitter: Double, _ effects: inout Effects
    ) {
        let action = link.connectFailed(error, queueIsFull: queueIsFull, now: now, jitter: jitter)
        follow(action, now: now, &effects)
    }

    mutating func welcomed(_ welcome: Welcome, now: Duration, _ effects: inout Effects) {
        guard welcome.version == Hello.currentVersion else {
            let error = NotifyError(
                .unsupportedVersion,
                "the daemon speaks version \(welcome.version) of the protocol, this client "
                    + "\(Hello.currentVersion); upgrade the older of the two")
            link.fatalErrorReceived(error)
            effects.channel = .close
            return
        }
        switch link.welcomed() {
        case .open:
            terms = Terms(
                maximumPayloadBytes: Int(welcome.maximumPayloadBytes),
                maximumWindow: max(1, min(welcome.maximumWindow, Limits.maximumWindow)),
                daemonVersion: welcome.daemonVersion)
            posts.window = max(1, Int(welcome.postWindow))
            posts.connected()
            effects.changes.append(.connected(daemonVersion: welcome.daemonVersion))
            for number in subscriptions.numbers { requestSubscription(number) }
            sendWaitingCalls()
            sendWaitingPosts(&effects)
        case .close: effects.channel = .close
        case .none: break
        }
    }
}

// MARK: - Losing the connection

extension ClientMachine {
    mutating func disconnected(
        _ error: NotifyError?, now: Duration, jitter: Double, _ effects: inout Effects
    ) {
        follow(link.disconnected(error, now: now, jitter: jitter), now: now, &effects)
    }

    private mutating func follow(
        _ action: ClientConnectionMachine.LossAction, now: Duration, _ effects: inout Effects
    ) {
        switch action {
        case .none: break
        case .retry(let moment):
            forgetConnection(now: now, &effects)
            effects.changes.append(.disconnected(link.lastFailure, retryIn: moment - now))
            continueShutdown(now: now, &effects)
        case .end(let error):
            forgetConnection(now: now, &effects)
            end(error, &effects)
        }
    }

    /// What was under way is answered or put back; what stays waits for the next connection.
    private mutating func forgetConnection(now: Duration, _ effects: inout Effects) {
        outgoing.clear()
        pendingLedgers.removeAll()
        flow = FlowControl()
        router.removeAll { number, last in
            _ = subscriptions.update(number) { $0.lastSequence = last }
        }
        var unprocessed: [(message: NotifyClient.OutgoingMessage, waiter: PostWaiter)] = []
        for (request, entry) in requests.takeAll() {
            let isUnprocessed = link.lastProcessed.map { request > $0 } ?? false
            switch entry {
            case .post(let message, let waiter) where isUnprocessed: unprocessed.append((message, waiter))
            case .post(_, let waiter): effects.outcomes.append(waiter, .failure(.outcomeUnknown))
            case .call(let call) where isUnprocessed:
                waitingCalls.append((call, now + settings.connectionWait))
            case .call(let call): effects.fail(call, call.loss)
            case .subscribe, .detach, .farewell: break
            }
        }
        posts.connectionLost(unprocessed: unprocessed, deadline: now + settings.connectionWait)
        for number in subscriptions.numbers { loseSubscription(number, now: now, &effects) }
    }

    /// The client is over: everybody who waits is told.
    private mutating func end(_ error: NotifyError?, _ effects: inout Effects) {
        let reason = error ?? .stopped
        for waiter in posts.takeAll() { effects.outcomes.append(waiter, .failure(reason)) }
        for (call, _) in waitingCalls { effects.fail(call, reason) }
        waitingCalls.removeAll()
        for number in subscriptions.numbers { finishSubscription(number, error, left: .success(()), &effects) }
        for waiter in endWaiters + serviceWaiters {
            effects.answer(waiter, error.map { .failure($0) } ?? .success(()))
        }
        endWaiters.removeAll()
        serviceWaiters.removeAll()
    }
}

// MARK: - Time and the end

extension ClientMachine {
    mutating func timeReached(_ now: Duration, _ effects: inout Effects) {
        shutdownTimeReached(now, &effects)
        switch link.timeReached(now) {
        case .connect: effects.channel = .connect
        case .close: effects.channel = .close
        case .none: break
        }
        let tooLate = NotifyError.notConnected(after: settings.connectionWait, lastFailure: link.waitingReason)
        for waiter in posts.expire(now: now) { effects.outcomes.append(waiter, .failure(tooLate)) }
        for (call, deadline) in waitingCalls where deadline <= now { effects.fail(call, tooLate) }
        waitingCalls.removeAll { $0.deadline <= now }
        flow.timeReached(now)
        for number in subscriptions.expired(now: now) { expireSubscription(number, tooLate, &effects) }
        continueShutdown(now: now, &effects)
        closeIfDrained(&effects)
    }

    /// Ends the client: subscriptions are left, what is under way may end, the connection is closed.
    mutating func stop(now: Duration, _ effects: inout Effects) {
        stop(now: now, deadline: now + settings.closingTimeout, &effects)
    }

    mutating func stop(now: Duration, deadline: Duration, _ effects: inout Effects) {
        shutdown = nil
        switch link.stop(deadline: deadline) {
        case .drain: drain(now: now, &effects)
        case .close: effects.channel = .close
        case .end:
            forgetConnection(now: now, &effects)
            end(nil, &effects)
        case .none: break
        }
    }

    private mutating func drain(now: Duration, _ effects: inout Effects) {
        for waiter in posts.takeAll() { effects.outcomes.append(waiter, .failure(.stopped)) }
        for number in subscriptions.numbers { leave(number, nil, now: now, &effects) }
        // Its answer says that the daemon has everything that was sent before, also posts without receipt.
        let request = requests.append(.farewell)
        Ping(request: request).write(to: &outgoing)
    }

    mutating func closeIfDrained(_ effects: inout Effects) {
        guard link.isDraining, requests.isEmpty, link.drained() == .close else { return }
        effects.channel = .close
    }

    /// Answers once the client is over.
    mutating func awaitEnd(_ slot: ReplySlot<Void>, _ effects: inout Effects) {
        switch link.stopped {
        case .some(let error): effects.answer(slot, error.map { .failure($0) } ?? .success(()))
        case nil: endWaiters.append(slot)
        }
    }

    /// Why nothing new is taken; nil where it is.
    var refusal: NotifyError? {
        guard link.isEnding else { return nil }
        if case .some(.some(let error)) = link.stopped { return error }
        return .stopped
    }
}

extension ClientConnectionMachine {
    /// For those who have waited in vain.
    fileprivate var waitingReason: NotifyError? {
        isIdle ? NotifyError(.notConnected, "the client is not running; call run()") : lastFailure
    }
}

// MARK: - Writing

extension ClientMachine {
    /// Takes what is to be written, and fills up with what waited for room.
    mutating func takeOutgoing(_ effects: inout Effects) -> ByteBuffer {
        writeAcknowledgements()
        writeDropReports()
        let taken = outgoing
        // What is handed over is not written to again; the next one will need about as much.
        outgoing = ByteBuffer()
        outgoing.reserveCapacity(min(taken.readableBytes, Self.outgoingBytes))
        sendWaitingPosts(&effects)
        return taken
    }
}
