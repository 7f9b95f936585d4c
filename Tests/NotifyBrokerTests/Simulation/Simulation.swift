import WireTestSupport
@testable import NotifyBroker
import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport

/// A simulation of a broker with small limits, whose clients, store and clock act randomly.
final class Simulation {
    static let names = ["a.x", "a.y", "b.x", "b.y.z", "user.1000.q", "user.2000.q"]
    static let objects = ["", "", "o", "p"]
    static let users: [UInt32] = [1000, 2000, 0]
    static let volatilePatterns = [[">"], ["a.*"], ["a.>", "*.x"], ["b.y.z"], ["user.*.q"], ["a.x", "a.*"]]
    static let durables: [Wanted] = [
        Wanted(uid: 1000, name: "all", patterns: [">"]), Wanted(uid: 1000, name: "some", patterns: ["a.*", "b.>"]),
        Wanted(uid: 2000, name: "object", patterns: ["a.>", "user.>"], object: "o"),
        Wanted(uid: 0, name: "root", patterns: ["a.x", "user.*.q"]),
        Wanted(uid: 1000, name: "group", patterns: ["a.>"], sharing: .group),
        Wanted(uid: 2000, name: "workers", patterns: [">"], sharing: .group),
    ]

    /// A durable subscription that clients use.
    struct Wanted {
        var uid: UInt32
        var name: String
        var patterns: [String]
        var object = ""
        var sharing = DurableSharing.exclusive
    }

    var random: SeededGenerator
    /// The random numbers for deletions.
    var retention: SeededGenerator
    let store = FakeStore()
    var host: TestHost
    var model = ReferenceModel()
    var clients: [SimulatedClient] = []
    var nextSubscription: UInt32 = 1
    var nextPost: UInt64 = 1
    let instances: [InstanceID]
    /// Completed requests of the store that have not been reported to the broker.
    var outcomes: [FakeStore.Outcome] = []
    private(set) var trace: [String] = []
    var happened = Happened()

    var violations: [String] { model.violations + store.violations }

    /// - Parameter mayDelete: Whether messages may be deleted in other ways than the purge of dead letters.
    init(seed: UInt64, mayDelete: Bool = true) {
        random = SeededGenerator(seed: seed)
        retention = SeededGenerator(seed: ~seed)
        let retains = retention.chance(70)
        model.retains = mayDelete && retains
        store.purgeMessages = Int.random(in: 1...20, using: &retention)
        instances = (1...4).map { InstanceID(high: 9, low: $0) }
        model.work.usesDeadlines = random.chance(50)
        model.work.isPurging = random.chance(30)
        store.pageRows = Int.random(in: 1...20, using: &random)
        store.pageBytes = Int.random(in: 1...4096, using: &random)
        host = TestHost(Self.configuration(&random), store: store)
    }

    static func configuration(_ random: inout SeededGenerator) -> BrokerConfiguration {
        var configuration = BrokerConfiguration()
        configuration.defaultWindow = UInt32.random(in: 1...20, using: &random)
        configuration.tailRingBytes = Int.random(in: 0...8192, using: &random)
        configuration.outboxBytesPerConnection = Int.random(in: 256...4096, using: &random)
        configuration.outboxBytesPerUser = Int.random(in: 1024...16384, using: &random)
        configuration.durableOutboxBytes = Int.random(in: 100...2000, using: &random)
        configuration.answerBytesPerConnection = Int.random(in: 500...8000, using: &random)
        configuration.pendingLogBytes = Int.random(in: 500...8000, using: &random)
        configuration.postWindow = Int.random(in: 1...30, using: &random)
        return configuration
    }

    /// The number of occurrences of each situation that the simulation must cover.
    struct Happened {
        var crashes = 0
        var stops = 0
        var failures = 0
        var takeOvers = 0
        var messages = 0
        var redeliveries = 0
        var gaps = 0
        var pauses = 0
        var pages = 0
        var searches = 0
        var resets = 0
        var edits = 0
        var rejections = 0
        var extensions = 0
        var retries = 0
        var letters = 0
        var shared = 0
        var settings = 0
        var deletions = 0
        var losses = 0
        var releases = 0
        var purges = 0
        /// Gaps of durable subscriptions.
        var losing = 0
        /// Messages that failed after their deletion.
        var missing = 0

        var isEverything: Bool {
            [
                crashes, stops, failures, takeOvers, messages, redeliveries, gaps, pauses, pages, searches, resets,
                edits, rejections, extensions, retries, letters, shared, settings, deletions, losses, releases, purges,
                losing, missing,
            ].allSatisfy { $0 > 0 }
        }

        mutating func add(_ other: Happened) {
            crashes += other.crashes
            stops += other.stops
            failures += other.failures
            takeOvers += other.takeOvers
            messages += other.messages
            redeliveries += other.redeliveries
            gaps += other.gaps
            pauses += other.pauses
            pages += other.pages
            searches += other.searches
            resets += other.resets
            edits += other.edits
            rejections += other.rejections
            extensions += other.extensions
            retries += other.retries
            letters += other.letters
            shared += other.shared
            settings += other.settings
            deletions += other.deletions
            losses += other.losses
            releases += other.releases
            purges += other.purges
            losing += other.losing
            missing += other.missing
        }
    }

    // MARK: Running

    /// Runs `steps` steps, then completes all work. Stops at the first violation.
    func run(steps: Int) {
        defer {
            (happened.resets, happened.edits) = (store.resets, store.edits)
            happened.missing = store.deleted.missing.values.reduce(0) { $0 + $1.count }
        }
        for _ in 0..<steps {
            step()
            guard violations.isEmpty else { return }
        }
        settleDown()
        guard violations.isEmpty else { return }
        leave()
    }

    func step() {
        switch Int.random(in: 0..<1318, using: &random) {
        case 0..<60: connect()
        case 60..<90: disconnect()
        case 90..<360: post()
        case 360..<420: subscribeVolatile()
        case 420..<480: subscribeDurable()
        case 480..<500: detach()
        case 500..<505: remove()
        case 505..<640: acknowledge()
        case 640..<670: addCredit()
        case 670..<740: changeRoom()
        case 740..<860: storeWorks()
        case 860..<950: report()
        case 950..<990: advance()
        case 990..<994: crash()
        case 994..<996: stop()
        case 996..<1000: askStore()
        case 1000..<1040: inspect()
        case 1040..<1048: reset()
        case 1048..<1088: edit()
        case 1088..<1170: reject()
        case 1170..<1200: extend()
        case 1200..<1208: configure()
        case 1208..<1228: workOnDeadLetters()
        case 1228..<1318: subscribeGroup()
        default: break
        }
        retain()
        if random.chance(70) { tick() }
    }

    func tick() {
        host.tick()
        read()
        for durable in host.durables { checkCounts(durable) }
        checkCharges()
    }

    func read() {
        noteDeaths()
        for client in clients {
            happened.pauses += client.client.isRead ? 0 : 1
            client.read(&model, store, &happened, now: host.now.monotonic) { number in
                isHeld(number, by: client)
            } isElsewhere: { hold, number, sequence in
                isHeld(sequence, of: hold, besides: number)
            }
        }
        clients.removeAll { $0.client.isClosed }
    }

    /// Records the clients whose connections the broker has ended, even if they have not read the last frames.
    func noteDeaths() {
        for client in clients where !client.isDead && (client.client.isClosed || host.isClosing(client.client)) {
            client.isDead = true
            model.work.deaths[client.uid, default: 0] += 1
        }
    }

    func isHeld(_ number: UInt32, by client: SimulatedClient) -> Bool {
        !client.client.isClosed && host.connection(client.client).subscriptions[number] != nil
    }

    /// Whether another member holds a message that it has neither answered nor lost.
    private func isHeld(_ sequence: UInt64, of hold: SimulatedClient.Hold, besides number: UInt32) -> Bool {
        clients.contains { other in
            other.holds.contains {
                $0.key != number && $0.value.generation == hold.generation && !$0.value.isExtended
                    && $0.value.open.contains(sequence) && isHeld($0.key, by: other)
            }
        }
    }

    func note(_ what: @autoclosure () -> String) { trace.append(what()) }

    func any(_ isWanted: (SimulatedClient) -> Bool = { _ in true }) -> SimulatedClient? {
        clients.filter { isReady($0) && isWanted($0) }.randomElement(using: &random)
    }

    /// Whether the client can send a request now. False for paused connections, because the broker processes their
    /// requests later.
    func isReady(_ client: SimulatedClient) -> Bool {
        client.client.isRead && !client.client.isClosed && !host.isClosing(client.client)
            && host.connection(client.client).pauses.isEmpty && !host.hasUnreadAnswers(client.client)
    }
}
