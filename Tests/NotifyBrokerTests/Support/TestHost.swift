import WireTestSupport
import NIOCore
import NotifyLog
@testable import NotifyBroker
import NotifyLog
import NotifyWire
import Testing

/// A manually driven host: time, sockets and the store advance only when a test advances them.
final class TestHost: BrokerHost {
    let core: BrokerCore
    let store: FakeStore
    private(set) var now: BrokerTime
    private(set) var clients: [ConnectionID: Client] = [:]
    /// The reported changes of storage health, in order.
    private(set) var healthChanges: [String?] = []
    private(set) var reloadRequests: [(id: ConnectionID, request: UInt64)] = []
    private(set) var isDrained = false
    /// The events that were reported for logging.
    var events: [BrokerEvent] = []
    /// The warnings for the daemon's log.
    private(set) var warnings: [String] = []
    /// The work for backups, and their numbers. A test must carry it out.
    private(set) var backupWork: [(work: StoreWork, number: UInt64)] = []
    /// Whether the broker requested another tick.
    private(set) var wantsTick = false
    /// Sequences below this one may have become visible to clients.
    private(set) var usedBelow: UInt64 = 0
    /// Called during each flush.
    var onFlush: (ConnectionID) -> Void = { _ in }

    /// Starts a broker with the content of the store. If `isReady` is true, reserves the broker's first sequences.
    init(
        _ configuration: BrokerConfiguration = BrokerConfiguration(), policy: AccessPolicy = AccessPolicy(),
        store: FakeStore = FakeStore(), at start: Duration = .zero, isReady: Bool = true,
        instance: InstanceID = InstanceID(high: 1, low: 2)
    ) {
        self.store = store
        now = BrokerTime(monotonic: start, wallMicroseconds: 1_700_000_000_000_000)
        core = BrokerCore(
            Broker(
                configuration: configuration, policy: policy, recovered: store.recovered(),
                daemon: .init(
                    version: "1.2.3", instance: instance, started: now,
                    process: Peer(uid: 9, gid: 8, pid: 7))))
        if isReady { run() }
    }

    // MARK: Connections

    func connect(
        uid: UInt32 = 1000, groups: [UInt32] = [], pid: UInt32 = 77, greets: Bool = true,
        instance: InstanceID? = nil
    ) -> Client {
        connect(
            Peer(identity: Identity(uid: uid, gid: uid, groups: groups), pid: pid),
            greeting: greets ? Hello(instance: instance ?? .next()) : nil)
    }

    func connect(_ peer: Peer, greeting: Hello?) -> Client {
        let client = Client(id: core.broker.connectionOpened(peer, now: now), host: self)
        clients[client.id] = client
        if let greeting {
            client.send(greeting)
            run()
            guard case .welcome? = client.take().first else {
                Issue.record("no welcome")
                return client
            }
        }
        return client
    }

    func received(_ bytes: [UInt8], from id: ConnectionID) -> Int {
        bytes.withUnsafeBytes { core.broker.bytesReceived($0, from: id, now: now) }
    }

    func flushed(_ client: Client) { onFlush(client.id) }

    /// Closes the client's connection.
    func closed(_ client: Client) {
        client.isClosed = true
        clients[client.id] = nil
        core.broker.connectionClosed(client.id, now: now)
    }

    func connectionWritable(_ client: Client) { core.broker.connectionWritable(client.id) }

    // MARK: Ticks

    func tick() {
        wantsTick = false
        runTick()
        if !store.violations.isEmpty { Issue.record("\(store.violations)") }
    }

    /// Alternates ticks and requests of the store until there is no more work.
    func run() {
        for _ in 0..<100_000 {
            tick()
            if wantsTick || work() { continue }
            return
        }
        Issue.record("the broker does not finish its work")
    }

    /// Runs ticks until the broker requests no further tick. The store completes no requests.
    func runTicks() {
        for _ in 0..<10_000 {
            tick()
            guard wantsTick else { return }
        }
        Issue.record("the broker does not finish its work")
    }

    /// Completes the oldest request of the store and reports the outcome. Returns false if there is no request.
    @discardableResult
    func work(failingWith failure: StorageFailure? = nil) -> Bool {
        guard let outcome = store.perform(failingWith: failure) else { return false }
        report(outcome)
        return true
    }

    func report(_ outcome: FakeStore.Outcome) {
        switch outcome {
        case .committed(let deletion, let outcome):
            if !deletion.isEmpty { core.broker.deleted(deletion, now: now) }
            core.broker.committed(outcome, now: now)
        case .deleted(let deletion): core.broker.deleted(deletion, now: now)
        case .page(let page): core.broker.pageRead(page, now: now)
        case .redeliveries(let page): core.broker.redeliveriesRead(page, now: now)
        case .answered(let deletion, let answer, let ticket):
            if let deletion { core.broker.deleted(deletion, now: now) }
            core.broker.stored(answer, for: ticket, now: now)
        }
    }

    /// Advances the time, and wakes the broker if its deadline has passed.
    func advance(_ duration: Duration) {
        now.monotonic += duration
        now.wallMicroseconds += UInt64(duration / .microseconds(1))
        guard let deadline = core.broker.nextDeadline, deadline <= now.monotonic else { return }
        wantsTick = false
        core.broker.deadlinePassed(now: now)
        runTick()
    }

    func drain() { core.broker.drainRequested() }

    // MARK: Host

    func scheduleTick() { wantsTick = true }

    func continueReceiving(_ id: ConnectionID) { clients[id]?.continueSending() }

    // Does nothing, because `advance` reads the deadline from the broker.
    func wake(at deadline: Duration) {}

    func perform(_ action: BrokerAction) {
        switch action {
        case .commit(let batch): store.add(.commit(batch))
        case .readPage(let request): store.add(.page(request))
        case .readRedeliveries(let request): store.add(.redeliveries(request))
        case .store(let work, .backup(let number)): backupWork.append((work, number))
        case .store(let work, let ticket): store.add(.work(work, ticket))
        case .close(let id):
            clients[id]?.isClosed = true
            clients[id] = nil
        case .pauseReading(let id): clients[id]?.setReading(false)
        case .resumeReading(let id): clients[id]?.setReading(true)
        case .storageHealthChanged(let problem): healthChanges.append(problem)
        case .reload(let id, let request): reloadRequests.append((id, request))
        case .scheduleTick: scheduleTick()
        case .log(let event): events.append(event)
        case .warn(let text): warnings.append(text)
        case .drained: isDrained = true
        }
    }

    func sequencesUsed(below next: UInt64) {
        if next < usedBelow { Issue.record("sequences decrease from \(usedBelow) to \(next)") }
        usedBelow = next
    }

    func sink(_ id: ConnectionID) -> Client? { clients[id] }

    // MARK: The broker's state

    var isReady: Bool { core.broker.isReady }
    var recordsPosts: Bool { core.broker.recorder.isRecording }
    var configuration: BrokerConfiguration { core.broker.configuration }
    /// The earliest deadline other than that of the next check for warnings.
    var nextDeadline: Duration? { core.broker.workDeadline }
    var warningDeadline: Duration? { core.broker.warnings.deadline }
    var nextSequence: UInt64 { core.broker.nextSequence }
    var lastSequence: UInt64 { core.broker.commits.sequencer.last }
    var pendingBytes: Int { core.broker.commits.pending.bytes }
    var connectionCount: Int { core.broker.connections.count }
    var registrationCount: Int { core.broker.subscriptions.registrationCount }
    var volatileSubscriptionCount: Int { core.broker.subscriptions.volatileCount }

    func isClosing(_ client: Client) -> Bool { core.broker.isClosing(client.id) }
    /// Whether the broker would process a frame of the client as it is received.
    func processesImmediately(_ client: Client) -> Bool {
        guard !client.isClosed, core.broker.connections.contains(client.id) else { return true }
        let connection = connection(client)
        return connection.pauses.isEmpty && connection.turn == .none && !hasUnreadAnswers(client)
            && core.broker.scheduler.readAllowance(of: connection.uid) > FairScheduler.Cost.read
    }
    /// Whether the client's next request waits until the client has read answers.
    func hasUnreadAnswers(_ client: Client) -> Bool { core.broker.areAnswersUnread(client.id.slot) }
    func connection(_ client: Client) -> Connection { core.broker.connections[client.id.slot] }
    func amount(of resource: Ledger.Resource, _ uid: UInt32) -> Int {
        core.broker.ledger.amount(of: resource, uid: uid)
    }
    /// Whether the user has no charges except for the names of its stored messages.
    func holdsNothing(_ uid: UInt32) -> Bool {
        Ledger.Resource.allCases.allSatisfy { $0 == .nameBytes || amount(of: $0, uid) == 0 }
    }

    /// Returns the amount of a resource that is charged for the user's durable subscriptions; nil for the names of
    /// stored messages.
    func heldByDurables(_ resource: Ledger.Resource, _ uid: UInt32) -> Int? {
        let own = durables.filter { $0.uid == uid }
        return switch resource {
        case .durableSubscriptions: own.count
        case .durableBytes: own.reduce(0) { $0 + $1.charged.memory }
        case .registrationBytes: core.broker.subscriptions.byteCount(of: uid)
        case .nameBytes: nil
        default: 0
        }
    }

    var durables: [DurableSubscription] { core.broker.durables.slots.map { core.broker.durables[$0] } }

    func durable(_ name: String, uid: UInt32 = 1000) -> DurableSubscription? {
        core.broker.durables.slot(of: DurableKey(uid: uid, name: name)).map { core.broker.durables[$0] }
    }

    /// Returns the reader of an attached durable subscription.
    func reader(_ name: String, uid: UInt32 = 1000) -> LogReader? {
        durable(name, uid: uid)?.reader.map { core.broker.pages.readers[$0] }
    }

    /// Returns the redeliveries in flight to a member.
    func redeliveriesInFlight(to client: Client, _ number: UInt32) -> [UInt64] {
        guard !client.isClosed, case .durable(let slot, let index)? = connection(client).subscriptions[number],
            let member = core.broker.durables[slot]._members.id(at: index)
        else { return [] }
        var redeliveries = core.broker.durables[slot]._redeliveries
        return redeliveries.ended(member)
    }

    /// Returns a counter of the statistics that clients receive.
    func counter(_ name: String) -> UInt64? {
        core.broker.counters(now: now).first { $0.name == name }?.value
    }
}

extension StorageFailure {
    static let full = StorageFailure(kind: .full, message: "the disk is full")
    static let broken = StorageFailure(kind: .inputOutput, message: "the disk is broken")
}

extension Peer {
    init(uid: UInt32, gid: UInt32, pid: UInt32) {
        self.init(identity: Identity(uid: uid, gid: gid), pid: pid)
    }
}
