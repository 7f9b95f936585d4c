import NIOCore
@testable import NotifyBroker
import NotifyLog
import NotifyWire
import Testing

/// Carries out what a broker decides, as the daemon's shell does, but by hand: time, sockets and the store move only
/// when told to.
final class Shell {
    var broker: Broker
    let store: FakeStore
    private(set) var now: Moment
    private(set) var clients: [ConnectionID: Client] = [:]
    /// What health changes said, in order.
    private(set) var healthChanges: [String?] = []
    private(set) var isDrained = false
    /// The broker asked for another tick.
    private(set) var wantsTick = false

    /// Starts a broker over what the store holds, and has it reserve its first sequences.
    init(
        _ configuration: BrokerConfiguration = BrokerConfiguration(), store: FakeStore = FakeStore(),
        at start: Duration = .zero, isReady: Bool = true
    ) {
        self.store = store
        now = Moment(monotonic: start, wallMicroseconds: 1_700_000_000_000_000)
        broker = Broker(
            configuration: configuration, recovered: store.recovered(), daemonVersion: "1.2.3",
            daemonInstance: ClientInstance(high: 1, low: 2), now: now)
        if isReady { run() }
    }

    // MARK: Connections

    func connect(uid: UInt32 = 1000, pid: UInt32 = 77, greets: Bool = true, instance: ClientInstance? = nil) -> Client {
        connect(Peer(uid: uid, gid: uid, pid: pid), greeting: greets ? Hello(instance: instance ?? .next()) : nil)
    }

    func connect(_ peer: Peer, greeting: Hello?) -> Client {
        let client = Client(id: broker.connectionOpened(peer, now: now), shell: self)
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
        bytes.withUnsafeBytes { broker.bytesReceived($0, from: id, now: now) }
    }

    /// The peer is gone.
    func closed(_ client: Client) {
        client.isClosed = true
        clients[client.id] = nil
        broker.connectionClosed(client.id)
    }

    // MARK: Ticks

    func tick() {
        wantsTick = false
        broker.finishTick(now: now)
        performActions()
        for id in broker.takeTouchedConnections() {
            flush(id)
        }
        performActions()
        if !store.violations.isEmpty { Issue.record("\(store.violations)") }
    }

    /// Ticks, and lets the store work, until there is nothing left to do.
    func run() {
        for _ in 0..<100_000 {
            tick()
            if wantsTick || work() { continue }
            return
        }
        Issue.record("the broker does not come to rest")
    }

    /// Ticks until the broker asks for no more, with the store at rest.
    func runTicks() {
        for _ in 0..<10_000 {
            tick()
            guard wantsTick else { return }
        }
        Issue.record("the broker does not come to rest")
    }

    /// Lets the store do its oldest job, and tells the broker. Returns false where it has none.
    @discardableResult
    func work(failingWith failure: StorageFailure? = nil) -> Bool {
        guard let outcome = store.perform(failingWith: failure) else { return false }
        report(outcome)
        return true
    }

    func report(_ outcome: FakeStore.Outcome) {
        switch outcome {
        case .committed(let outcome): broker.committed(outcome, now: now)
        case .page(let page): broker.pageRead(page, now: now)
        }
    }

    /// Time goes by, and the broker is woken where it wanted to be.
    func advance(_ duration: Duration) {
        now.monotonic += duration
        now.wallMicroseconds += UInt64(duration / .microseconds(1))
        guard let deadline = broker.nextDeadline, deadline <= now.monotonic else { return }
        broker.deadlinePassed(now: now)
        tick()
    }

    private func flush(_ id: ConnectionID) {
        guard let client = clients[id] else { return }
        while client.room > 0, let bytes = broker.nextOutput(for: id) {
            client.received(bytes)
        }
        broker.settle(id, now: now)
        if broker.isClosing(id), broker.isFlushed(id) { closed(client) }
    }

    private func performActions() {
        for action in broker.takeActions() {
            switch action {
            case .commit(let batch): store.add(.commit(batch))
            case .readPage(let request): store.add(.page(request))
            case .close(let id):
                clients[id]?.isClosed = true
                clients[id] = nil
            case .pauseReading(let id): clients[id]?.setReading(false)
            case .resumeReading(let id): clients[id]?.setReading(true)
            case .storageHealthChanged(let problem): healthChanges.append(problem)
            case .continueSoon: wantsTick = true
            case .drained: isDrained = true
            }
        }
    }

    // MARK: What the broker says of itself

    var isReady: Bool { broker.isReady }
    var nextDeadline: Duration? { broker.nextDeadline }
    var connectionCount: Int { broker.connections.count }

    func account(_ uid: UInt32) -> Accounts.Account { broker.accounts[uid] }

    /// The reader behind a durable subscription.
    func reader(_ name: String, uid: UInt32 = 1000) -> DurableReader? {
        broker.readerSlots[Broker.DurableKey(uid: uid, name: name)].map { broker.readers[$0] }
    }

    /// A counter as a client sees it.
    func counter(_ name: String) -> UInt64? {
        broker.counters(now: now).first { $0.name == name }?.value
    }
}

extension StorageFailure {
    static let full = StorageFailure(kind: .full, message: "the disk is full")
    static let broken = StorageFailure(kind: .inputOutput, message: "the disk is broken")
}
