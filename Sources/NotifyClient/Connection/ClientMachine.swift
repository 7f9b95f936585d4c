import DequeModule
import NIOCore
import NotifyWire

/// The client's state machine: its connection, requests, posts and subscriptions.
///
/// Each event changes the machine, appends frames to `outgoing`, and adds all other actions to `Effects`. The machine
/// does no I/O and reads no clock. `ClientCore` guards it with a lock.
struct ClientMachine: ~Copyable {
    /// A request that was sent and waits for its answer.
    enum PendingRequest {
        case post(NotificationClient.OutgoingMessage, PostWaiter)
        case subscribe(UInt32)
        case detach(UInt32)
        case serve(UInt32)
        case endServing(UInt32)
        /// With a slot if it is an update.
        case announce(UInt32, AnnouncedContent, ReplySlot<Announced>?)
        case call(any Call)
        /// A request for the settings of a subscription, to extend the deadlines of its messages.
        case deadline(UInt32)
        /// A post whose caller got an error, because the receipt did not arrive in time.
        case abandonedPost
        /// A ping that checks that the daemon responds.
        case probe
        /// The ping that is the last request before the client closes the connection.
        case finalPing
    }

    /// The information from the daemon's welcome.
    struct DaemonInfo {
        var maximumPayloadBytes = Limits.defaultPayloadBytes
        var maximumWindow = Limits.maximumWindow
        var daemonVersion = ""
        /// The uid of this client; nil before the first connection.
        var uid: UInt32?
        /// The epoch of the log; 0 if unknown.
        var logEpoch: UInt64 = 0
    }

    /// The number of bytes waiting to be written at which no further posts are encoded.
    static let outgoingBytes = 1 << 20

    let settings: NotificationClient.Configuration
    let instance: InstanceID

    var connection: ClientConnectionMachine
    var requests = RequestTable<PendingRequest>()
    var posts = PendingPosts()
    /// The pipelines that have staged posts.
    var announcedPipelines: [PipelineBuffer] = []
    /// Whether the connection took no further bytes when there were some to write.
    var isBlocked = false
    var waitingCalls: [(call: any Call, deadline: Duration)] = []
    var timeouts: RequestTimeouts
    var probing = Probing.none
    var subscriptions = SubscriptionTable()
    var servers = RegistrationTable<ServerRegistration>()
    var announcements = RegistrationTable<AnnouncementRegistration>()
    /// The names and objects of the announcements.
    var announcedNames: Set<AnnouncedName> = []
    var router = DeliveryRouter()
    var flow = FlowControl()
    var extender = DeadlineExtender()
    var daemonInfo = DaemonInfo()
    /// Whether the daemon has sent its welcome on the connection.
    var isConnectionOpen = false
    /// The number of connections that were lost after the daemon's welcome.
    var lostConnections = 0
    /// The number of messages that buffers have dropped, for the next effects.
    var dropped: UInt64 = 0
    /// Encoded frames to write.
    var outgoing = ByteBuffer()
    /// The durable subscriptions' ledgers that have answers to send.
    var pendingLedgers: [AcknowledgementLedger] = []
    /// Callers that wait for the end of the client.
    var endWaiters: [ReplySlot<Void>] = []
    /// Callers that wait for the end of the client as a service. The service may end before the client.
    var serviceWaiters: [ReplySlot<Void>] = []
    /// Set when the client was shut down gracefully while subscriptions were open.
    var shutdown: GracefulShutdown?

    init(_ settings: NotificationClient.Configuration, instance: InstanceID) {
        self.settings = settings
        self.instance = instance
        connection = ClientConnectionMachine(settings.connectionSettings)
        timeouts = RequestTimeouts(limit: settings.requestTimeout)
    }

    /// The time at which to call `timeReached`; nil for never.
    var deadline: Duration? {
        var earliest = Duration?.earlier(connection.deadline, posts.nextDeadline)
        earliest = .earlier(earliest, subscriptions.nextDeadline)
        earliest = .earlier(earliest, servers.nextDeadline)
        earliest = .earlier(earliest, announcements.nextDeadline)
        earliest = .earlier(earliest, flow.reportDeadline)
        earliest = .earlier(earliest, shutdown?.nextDeadline)
        earliest = .earlier(earliest, extender.nextDeadline)
        for call in waitingCalls { earliest = .earlier(earliest, call.deadline) }
        earliest = .earlier(earliest, timeouts.nextDeadline)
        return .earlier(earliest, probing.deadline)
    }

    /// Whether there may be something to write.
    var hasOutgoing: Bool {
        outgoing.readableBytes > 0 || !announcedPipelines.isEmpty || !pendingLedgers.isEmpty || flow.isReportDue
    }
}

// MARK: - Connecting

extension ClientMachine {
    mutating func start(_ effects: inout Effects) {
        switch connection.start() {
        case .connect: effects.channel = .connect
        case .none: break
        }
    }

    mutating func connected(now: Duration, _ effects: inout Effects) {
        switch connection.connected(now: now) {
        case .greet:
            Hello(overflow: OverflowPolicy(settings.overflow), instance: instance).write(to: &outgoing)
        case .close:
            effects.channel = .close
        }
    }

    mutating func connectFailed(
        _ error: NotifyError, queueIsFull: Bool = false, now: Duration, jitter: Double, _ effects: inout Effects
    ) {
        let action = connection.connectFailed(error, queueIsFull: queueIsFull, now: now, jitter: jitter)
        perform(action, now: now, &effects)
    }

    mutating func welcomed(_ welcome: Welcome, now: Duration, _ effects: inout Effects) {
        guard welcome.version == Hello.currentVersion else {
            let error = NotifyError(
                .unsupportedVersion,
                "the daemon uses protocol version \(welcome.version), this client version "
                    + "\(Hello.currentVersion); upgrade the older of the two")
            connection.fatalErrorReceived(error)
            effects.channel = .close
            return
        }
        switch connection.welcomed() {
        case .open:
            daemonInfo = DaemonInfo(
                maximumPayloadBytes: Int(welcome.maximumPayloadBytes),
                maximumWindow: max(1, min(welcome.maximumWindow, Limits.maximumWindow)),
                daemonVersion: welcome.daemonVersion, uid: welcome.uid, logEpoch: welcome.epoch)
            posts.window = max(1, Int(welcome.postWindow))
            posts.connected()
            timeouts.restart()
            isConnectionOpen = true
            effects.changes.append(.connected(daemonVersion: welcome.daemonVersion))
            for number in subscriptions.numbers { requestSubscription(number) }
            for number in servers.numbers { register(number) }
            // Before the announcements, so that a withdrawal never ends a later value of the same name.
            sendWaitingCalls(now: now) { $0 is FrameCall<Withdraw> }
            for number in announcements.numbers { sendAnnouncement(number, &effects) }
            sendWaitingCalls(now: now)
            sendWaitingPosts(&effects)
            if !requests.isEmpty || !posts.isEmpty { requestAdded(now: now) }
        case .close: effects.channel = .close
        case .none: break
        }
    }
}

// MARK: - Time and the end

extension ClientMachine {
    mutating func timeReached(_ now: Duration, _ effects: inout Effects) {
        shutdownTimeReached(now, &effects)
        switch connection.timeReached(now) {
        case .connect: effects.channel = .connect
        case .close: effects.channel = .close
        case .none: break
        }
        let timeoutError = NotifyError.notConnected(
            after: settings.connectionWait, lastFailure: connection.waitingReason)
        for waiter in posts.expire(now: now) { effects.outcomes.append(waiter, .failure(timeoutError)) }
        for (call, deadline) in waitingCalls where deadline <= now { effects.fail(call, timeoutError) }
        waitingCalls.removeAll { $0.deadline <= now }
        timeOutRequests(now: now, &effects)
        flow.timeReached(now)
        extendDeadlines(now: now)
        for number in subscriptions.expired(now: now) { expireSubscription(number, timeoutError, &effects) }
        for number in servers.expired(now: now) { finishServer(number, timeoutError, &effects) }
        for number in announcements.expired(now: now) { finishAnnouncement(number, timeoutError, &effects) }
        continueShutdown(now: now, &effects)
        closeIfDrained(&effects)
    }

    /// Stops the client: leaves subscriptions, lets pending requests complete, then closes the connection.
    mutating func stop(now: Duration, _ effects: inout Effects) {
        stop(now: now, deadline: now + settings.closingTimeout, &effects)
    }

    mutating func stop(now: Duration, deadline: Duration, _ effects: inout Effects) {
        shutdown = nil
        switch connection.stop(deadline: deadline) {
        case .drain: drain(now: now, &effects)
        case .close: effects.channel = .close
        case .end:
            discardConnection(now: now, &effects)
            end(nil, &effects)
        case .none: break
        }
    }

    private mutating func drain(now: Duration, _ effects: inout Effects) {
        for waiter in posts.takeAll() { effects.outcomes.append(waiter, .failure(.stopped)) }
        for number in subscriptions.numbers { leave(number, nil, now: now, &effects) }
        for number in servers.numbers { endServing(number, nil, now: now, &effects) }
        for number in announcements.numbers { withdrawAnnouncement(number, &effects) }
        // The pong confirms that the daemon has read everything sent before, including posts without a receipt.
        writeFinalPing()
    }

    mutating func writeFinalPing() { Ping(request: requests.append(.finalPing)).write(to: &outgoing) }

    mutating func closeIfDrained(_ effects: inout Effects) {
        guard connection.isDraining, requests.isEmpty, servers.isEmpty, connection.drained() == .close else { return }
        effects.channel = .close
    }

    /// Answers `slot` once the client has ended.
    mutating func awaitEnd(_ slot: ReplySlot<Void>, _ effects: inout Effects) {
        switch connection.stopped {
        case .some(let error): effects.answer(slot, error.map { .failure($0) } ?? .success(()))
        case nil: endWaiters.append(slot)
        }
    }

    /// The error for new requests; nil while new requests are accepted.
    var refusal: NotifyError? {
        guard connection.isEnding else { return nil }
        if case .some(.some(let error)) = connection.stopped { return error }
        return .stopped
    }
}

extension ClientConnectionMachine {
    /// The cause to report to requests whose wait for a connection timed out.
    fileprivate var waitingReason: NotifyError? {
        isIdle ? NotifyError(.notConnected, "the client is not running; call run()") : lastFailure
    }
}

// MARK: - Writing

extension ClientMachine {
    /// Takes the frames to write, then encodes posts that waited for room. Nil if there are no frames, for example
    /// because the staged posts were refused or wait for receipts of earlier ones.
    mutating func takeOutgoing(_ effects: inout Effects) -> ByteBuffer? {
        writeAcknowledgements()
        writeDropReports()
        guard outgoing.readableBytes > 0 else { return nil }
        let taken = outgoing
        // A new buffer is used, because appending to the taken buffer would copy it. The next write will need about as
        // much space.
        outgoing = ByteBuffer()
        outgoing.reserveCapacity(min(taken.readableBytes, Self.outgoingBytes))
        sendWaitingPosts(&effects)
        return taken
    }
}
