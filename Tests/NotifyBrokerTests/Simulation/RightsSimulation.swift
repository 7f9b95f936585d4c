import NotifyLog
import NotifyWire
import TestSupport
import WireTestSupport

@testable import NotifyBroker

/// A simulation of durable subscriptions whose members have different rights, under changing policies.
///
/// Members attach, answer and leave at random, the store works and fails, and the broker restarts. One subscription
/// gets all posts, and a second one, in some runs, the dead letters of the first one.
final class RightsSimulation {
    static let uid: UInt32 = 1000
    /// The index of the subscription that gets all posts.
    static let jobs = 0

    /// The random choices for a whole run.
    struct Plan {
        let settings: DurableSettingChanges
        /// The longest delay between two deliveries.
        let maximumDelay = Duration.milliseconds(300)
        /// Whether there are so many members that usually no further identity can attach.
        let isCrowded: Bool
        let identities: Int
        let members: Int
        let sharing: DurableSharing
        let usesFailures: Bool
        let blocks: Bool
        let readsLetters: Bool

        init(using random: inout SeededGenerator) {
            let delay = UInt64.random(in: 0...300_000, using: &random)
            settings = DurableSettingChanges(
                deadlineMicroseconds: random.chance(50) ? 0 : .random(in: 100_000...600_000, using: &random),
                retryDelays: [random.chance(30) ? 0 : delay],
                maximumDeliveries: random.chance(30) ? 0 : .random(in: 2...4, using: &random), maximumInFlight: 0)
            isCrowded = random.chance(30)
            identities = isCrowded ? 12 : .random(in: 2...12, using: &random)
            members = isCrowded ? 12 : .random(in: 1...6, using: &random)
            sharing = !isCrowded && random.chance(20) ? .exclusive : .group
            usesFailures = random.chance(30)
            blocks = random.chance(50)
            readsLetters = !isCrowded && random.chance(50)
        }

        /// The settings of a subscription. The subscription to dead letters needs no limit of deliveries, because a
        /// dead letter stays stored.
        func settings(of index: Int) -> DurableSettingChanges {
            var settings = settings
            if index != RightsSimulation.jobs { settings.maximumDeliveries = 0 }
            return settings
        }
    }

    var random: SeededGenerator
    let plan: Plan
    let configuration: BrokerConfiguration
    let store = FakeStore()
    var host: TestHost
    var rights: RightsTable
    var generation: UInt32 = 0
    var models: [RightsModel]
    var members: [RightsMember] = []
    /// A client with every right, which posts and inspects.
    var poster: Client
    /// A client with volatile subscriptions to everything.
    var watcher: (client: Client, groups: [UInt32])
    /// The number of durable subscriptions that must keep a post, by its request.
    var receipts: [UInt64: UInt32] = [:]
    var descriptions: [UInt64: DurableDescription] = [:]
    /// The attachments that must be refused, by connection and request.
    var refusals: [ConnectionID: Set<UInt64>] = [:]
    /// Completed requests of the store that have not been reported to the broker.
    var outcomes: [FakeStore.Outcome] = []
    private var violations: [String] = []
    private(set) var trace: [String] = []
    /// The number of occurrences of each event.
    private(set) var happened: [String: Int] = [:]
    /// The decoded dead letters, by their own sequences.
    private var knownLetters: [UInt64: StoredLetter] = [:]

    var allViolations: [String] { violations + models.flatMap(\.violations) + store.violations }

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        plan = Plan(using: &random)
        configuration = Self.configuration(&random)
        rights = RightsTable(using: &random)
        store.pageRows = Int.random(in: 1...20, using: &random)
        store.pageBytes = Int.random(in: 1...4096, using: &random)
        models = [RightsModel(name: "jobs", pattern: ">", sharing: plan.sharing)]
        if plan.readsLetters {
            models.append(RightsModel(name: "letters", pattern: "notifyd.dead.\(Self.uid)", sharing: .group))
        }
        host = TestHost(configuration, policy: rights.policy(generation), store: store)
        poster = host.connect(uid: 0)
        watcher = Self.watch(host, &random)
    }

    static func configuration(_ random: inout SeededGenerator) -> BrokerConfiguration {
        var configuration = BrokerConfiguration()
        configuration.tailRingBytes = random.chance(40) ? 1 << 20 : .random(in: 0...4096, using: &random)
        configuration.durableOutboxBytes = random.chance(50) ? 1 << 20 : .random(in: 100...2000, using: &random)
        configuration.storageRetryDelay = .milliseconds(200)
        return configuration
    }

    func fail(_ what: String) { violations.append(what) }
    func note(_ event: String) { happened[event, default: 0] += 1 }
    func log(_ what: @autoclosure () -> String) { trace.append(what()) }

    // MARK: Running

    /// Runs `steps` steps, then completes all work. Stops at the first violation.
    func run(steps: Int) {
        for index in models.indices {
            attach(index)
            settle()
        }
        for _ in 0..<steps where allViolations.isEmpty { step() }
        if allViolations.isEmpty { rest() }
        if allViolations.isEmpty { finish() }
    }

    private func step() {
        switch Int.random(in: 0..<200, using: &random) {
        case 0..<32: post()
        case 32..<47: join()
        case 47..<53: joinTogether()
        case 53..<59 where !plan.isCrowded || random.chance(25): leave()
        case 59..<64 where !plan.isCrowded || random.chance(25): disconnect()
        case 64..<92: acknowledge()
        case 92..<98: acknowledgeAll()
        case 98..<110: reject()
        case 110..<113: extend()
        case 113..<123: changePolicy()
        case 123..<131 where plan.blocks: block()
        case 131..<137: unblock()
        case 137..<172: work()
        case 172..<178: perform()
        case 178..<181 where plan.usesFailures: work(failingWith: random.chance(50) ? .full : .broken)
        case 181..<188: advance(.milliseconds(10 * Int.random(in: 1...25, using: &random)))
        case 188..<195: rest()
        case 195..<197 where !plan.readsLetters: retryLetters()
        case 197 where random.chance(60): crash()
        case 198 where random.chance(60): stop()
        default: break
        }
        if random.chance(70) { tick() }
    }

    // MARK: Broker and store

    func tick() {
        host.tick()
        observe()
        read()
    }

    /// Reports a completed request of the store to the broker, or lets the store complete one.
    @discardableResult
    func work(failingWith failure: StorageFailure? = nil) -> Bool {
        if outcomes.isEmpty, !perform(failingWith: failure) { return false }
        host.report(outcomes.removeFirst())
        tick()
        return true
    }

    @discardableResult
    func perform(failingWith failure: StorageFailure? = nil) -> Bool {
        guard let outcome = store.perform(failingWith: failure) else { return false }
        if failure != nil { note("storage failed") }
        outcomes.append(outcome)
        return true
    }

    /// Completes the work of broker and store.
    func settle() {
        for _ in 0..<10_000 {
            tick()
            guard host.wantsTick || work() else { return }
            guard allViolations.isEmpty else { return }
        }
        fail("the broker does not finish its work")
    }

    func advance(_ time: Duration) {
        log("advance \(time)")
        noteDeadlines(after: time)
        host.advance(time)
        tick()
    }

    /// Records failures of the messages whose deadlines may pass.
    private func noteDeadlines(after time: Duration) {
        guard plan.settings.deadlineMicroseconds != 0 else { return }
        for index in models.indices {
            guard let durable = host.durable(models[index].name) else { continue }
            let inFlight = models[index].messages.keys.filter { sequence in
                let state = durable.redeliveryState(of: sequence)
                if case .inFlight? = state { return true }
                return durable._cursor.state(of: sequence) == .inFlight
            }
            models[index].ended(inFlight, isFailure: true, waitsUntil: host.now.monotonic + time + plan.maximumDelay)
        }
    }

    /// Lets the models compare the broker's state with their own.
    private func observe() {
        for index in models.indices {
            guard let durable = host.durable(models[index].name) else { continue }
            let position = host.reader(models[index].name).map {
                $0.isLive ? host.core.broker.commits.persistedThrough : $0.position
            }
            let identities = durable.identities.inOrder.map { host.core.broker.access.identity($0).groups }
            models[index].observe(
                durable, readThrough: position ?? 0, identities, index == Self.jobs ? letters() : [], rights, store)
            if !models[index].unreportedLosses.isEmpty { note("dropped without a client") }
            check(identities, of: durable)
        }
    }

    private func check(_ identities: [[UInt32]], of durable: DurableSubscription) {
        if identities.count > DurableRecord.maximumOwners { fail("'\(durable.name)' keeps too many identities") }
        for member in durable._members.all where member.isCommitted {
            let groups = host.core.broker.access.identity(member.attachment.identity).groups
            if !identities.contains(groups) { fail("'\(durable.name)' has a member with \(groups), and forgets it") }
        }
        guard outcomes.isEmpty, let stored = store.subscriptions[durable.id]?.owners.map(\.groups) else { return }
        if stored != identities { fail("'\(durable.name)' has \(identities), the log has \(stored)") }
    }

    /// The messages of the first subscription that are dead letters. Adds new ones to the messages of the second one.
    private func letters() -> Set<UInt64> {
        var sequences: Set<UInt64> = []
        for message in store.messages where message.isDeadLetter {
            if knownLetters[message.sequence] == nil, let letter = message.letter {
                note("dead letter")
                knownLetters[message.sequence] = letter
                if let family = models[Self.jobs].messages[letter.sequence]?.family, models.count > 1 {
                    models[1].posted(message.sequence, family)
                }
            }
            if let letter = knownLetters[message.sequence] { sequences.insert(letter.sequence) }
        }
        return sequences
    }
}
