import WireTestSupport
@testable import NotifyBroker
import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport

/// A broker with small limits, and with clients, a store and a clock that act randomly.
final class Simulation {
    private static let names = ["a.x", "a.y", "b.x", "b.y.z", "user.1000.q", "user.2000.q"]
    private static let objects = ["", "", "o", "p"]
    private static let users: [UInt32] = [1000, 2000, 0]
    private static let volatilePatterns = [[">"], ["a.*"], ["a.>", "*.x"], ["b.y.z"], ["user.*.q"], ["a.x", "a.*"]]
    private static let durables: [(uid: UInt32, name: String, patterns: [String], object: String)] = [
        (1000, "all", [">"], ""), (1000, "some", ["a.*", "b.>"], ""), (2000, "object", ["a.>", "user.>"], "o"),
        (0, "root", ["a.x", "user.*.q"], ""),
    ]

    private var random: SeededGenerator
    private let store = FakeStore()
    private var host: TestHost
    private var model = ReferenceModel()
    private var clients: [SimulatedClient] = []
    private var nextSubscription: UInt32 = 1
    private var nextPost: UInt64 = 1
    private let instances: [InstanceID]
    /// Completed requests of the store that have not been reported to the broker.
    private var outcomes: [FakeStore.Outcome] = []
    private(set) var trace: [String] = []
    private(set) var happened = Happened()

    var violations: [String] { model.violations + store.violations }

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        instances = (1...4).map { InstanceID(high: 9, low: $0) }
        store.pageRows = Int.random(in: 1...20, using: &random)
        store.pageBytes = Int.random(in: 1...4096, using: &random)
        host = TestHost(Self.configuration(&random), store: store)
    }

    private static func configuration(_ random: inout SeededGenerator) -> BrokerConfiguration {
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

        var isEverything: Bool {
            [
                crashes, stops, failures, takeOvers, messages, redeliveries, gaps, pauses, pages, searches, resets,
                edits,
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
        }
    }

    // MARK: Running

    /// Runs `steps` steps, then completes all work. Stops at the first violation.
    func run(steps: Int) {
        defer { (happened.resets, happened.edits) = (store.resets, store.edits) }
        for _ in 0..<steps {
            step()
            guard violations.isEmpty else { return }
        }
        settleDown()
        guard violations.isEmpty else { return }
        leave()
    }

    private func step() {
        switch Int.random(in: 0..<1056, using: &random) {
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
        case 1000..<1040: inspect()
        case 1040..<1048: reset()
        case 1048..<1056: edit()
        default: break
        }
        if random.chance(70) { tick() }
    }

    private func tick() {
        host.tick()
        read()
    }

    private func read() {
        for client in clients {
            happened.pauses += client.client.isRead ? 0 : 1
            client.read(&model, store, &happened) { number in
                !client.client.isClosed
                    && host.connection(client.client).subscriptions[number] != nil
            }
        }
        clients.removeAll { $0.client.isClosed }
    }

    private func note(_ what: @autoclosure () -> String) { trace.append(what()) }

    private func any(_ isWanted: (SimulatedClient) -> Bool = { _ in true }) -> SimulatedClient? {
        clients.filter {
            // Excludes paused connections, because the broker processes their requests later.
            $0.client.isRead && !$0.client.isClosed && !host.isClosing($0.client)
                && host.connection($0.client).pauses.isEmpty && isWanted($0)
        }
        .randomElement(using: &random)
    }

    // MARK: Clients

    private func connect() {
        guard clients.count < 8 else { return }
        let uid = Self.users.randomElement(using: &random) ?? 0
        let overflow: OverflowPolicy = random.chance(5) ? .disconnect : random.chance(40) ? .keepLatest : .dropOldest
        let instance = instances.randomElement(using: &random) ?? instances[0]
        connect(uid: uid, overflow: overflow, instance: instance)
    }

    @discardableResult
    private func connect(uid: UInt32, overflow: OverflowPolicy, instance: InstanceID) -> SimulatedClient {
        let client = host.connect(Peer(uid: uid, gid: uid, pid: 1), greeting: nil)
        client.send(Hello(overflow: overflow, instance: instance))
        let simulated = SimulatedClient(client, uid: uid, overflow: overflow)
        clients.append(simulated)
        note("connect \(client.id) \(uid) \(overflow) \(instance.low)")
        return simulated
    }

    private func disconnect() {
        guard let client = clients.randomElement(using: &random) else { return }
        note("disconnect \(client.client.id)")
        host.closed(client.client)
        clients.removeAll { $0 === client }
    }

    private func changeRoom() {
        guard let client = clients.randomElement(using: &random) else { return }
        let room = random.chance(40) ? 0 : random.chance(50) ? Int.random(in: 1...2000, using: &random) : .max
        note("room \(client.client.id) \(room)")
        if room == 0 { client.client.stopTaking() } else { client.client.makeRoom(room) }
    }

    // MARK: Posts

    private func post() {
        for _ in 0..<Int.random(in: 1...6, using: &random) { postOne() }
    }

    private func postOne() {
        // A post that the broker queues is accepted later, when other subscriptions may exist.
        guard let client = any(), host.processesImmediately(client.client) else { return }
        let name = Self.names.randomElement(using: &random) ?? "a.x"
        let object = Self.objects.randomElement(using: &random) ?? ""
        let durability = Durability.allCases.randomElement(using: &random) ?? .automatic
        let number = nextPost
        nextPost += 1
        let padding = [UInt8](repeating: 0, count: Int.random(in: 0...(random.chance(10) ? 600 : 60), using: &random))
        let payload = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } + padding
        let post = ReferenceModel.Posted(name: Array(name.utf8), object: Array(object.utf8), number: number)
        let before = host.lastSequence
        let wantsReceipt = random.chance(60)
        // The broker accepts the post immediately, so the subscriptions that exist now determine the recipients.
        let request = client.client.nextRequest()
        let reached = clients.map { other in
            other.client.isClosed || host.isClosing(other.client)
                ? 0 : other.taken.values.count { $0.selects(post.name, post.object) }
        }
        client.client.send(
            postFrame(
                request, name: post.name, object: post.object, payload: payload, durability, receipt: wantsReceipt))
        let sequence = host.lastSequence
        note(
            "post \(client.client.id) \(name) '\(object)' \(durability) \(sequence > before ? "\(sequence)" : "refused")"
        )
        guard sequence > before else { return }
        if sequence != before + 1 { model.fail("one post used \(sequence - before) sequences") }
        model.accepted(post, as: sequence)
        for (other, count) in zip(clients, reached) where count > 0 { other.expected.append(sequence) }
        if wantsReceipt { client.unanswered[request] = (sequence, UInt32(reached.count { $0 > 0 }), durability) }
    }

    // MARK: Subscriptions

    private func subscribeVolatile() {
        guard let client = any({ $0.taken.count < 4 }) else { return }
        let patterns = Self.volatilePatterns.randomElement(using: &random) ?? [">"]
        let object = random.chance(20) ? "o" : ""
        let number = takeNumber()
        let filter = filter(patterns, object, uid: client.uid)
        let request = client.client.subscribe(number, patterns, object: object)
        client.asked[request] = SimulatedClient.Wish(number: number, filter: filter)
        client.taken[number] = filter
        note("subscribe \(client.client.id) \(number) \(patterns) '\(object)'")
    }

    private func subscribeDurable() {
        guard let wish = Self.durables.randomElement(using: &random), let client = any({ $0.uid == wish.uid }) else {
            return
        }
        let window = random.chance(50) ? 0 : UInt32.random(in: 1...6, using: &random)
        let credit = random.chance(60) ? Subscribe.unlimitedCredit : UInt32.random(in: 0...8, using: &random)
        attach(client, wish, window: window, credit: credit, from: randomStart(), namesPatterns: random.chance(50))
    }

    private func randomStart() -> LogPosition {
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1: .now
        case 2: .oldest
        case 3: .sequence(.random(in: 1...host.lastSequence + 2, using: &random))
        case 4: .age(microseconds: .random(in: 0...3_000_000, using: &random))
        default:
            // Up to two seconds in the future.
            .time(microseconds: host.now.wallMicroseconds + 2_000_000 - .random(in: 0...5_000_000, using: &random))
        }
    }

    private func attach(
        _ client: SimulatedClient, _ wish: (uid: UInt32, name: String, patterns: [String], object: String),
        window: UInt32, credit: UInt32, from start: LogPosition, namesPatterns: Bool
    ) {
        let number = takeNumber()
        let request = client.client.subscribe(
            number, namesPatterns ? wish.patterns.shuffled(using: &random) : [], object: wish.object,
            durable: wish.name, from: start,
            window: window, credit: credit)
        let durable = host.durable(wish.name, uid: wish.uid)
        client.asked[request] = SimulatedClient.Wish(
            number: number, filter: filter(wish.patterns, wish.object, uid: wish.uid),
            durable: (
                id: durable?.id ?? DurableID(0),
                window: Int(window == 0 ? host.configuration.defaultWindow : window), credit: credit
            ))
        note("attach \(client.client.id) \(number) \(wish.name) window \(window) credit \(credit) \(start)")
    }

    private func detach() {
        guard let client = any(),
            let number = (Array(client.taken.keys) + client.holds.keys + client.asked.values.map(\.number))
                .sorted().randomElement(using: &random)
        else { return }
        note("detach \(client.client.id) \(number)")
        client.client.detach(number)
        client.taken[number] = nil
    }

    private func remove() {
        guard let wish = Self.durables.randomElement(using: &random), let client = any({ $0.uid == wish.uid }) else {
            return
        }
        note("remove \(wish.name)")
        client.client.remove(wish.name)
    }

    private func reset() {
        guard let wish = Self.durables.randomElement(using: &random), let client = any({ $0.uid == wish.uid }) else {
            return
        }
        let position = randomStart()
        note("reset \(wish.name) \(position)")
        client.client.send(Reset(request: client.client.nextRequest(), durableName: wish.name, to: position))
    }

    /// Gives a subscription other patterns, or again those with which it is created.
    private func edit() {
        guard let wish = Self.durables.randomElement(using: &random), let client = any({ $0.uid == wish.uid }) else {
            return
        }
        let others = Self.durables.map(\.patterns) + [["b.>"], ["a.y", "user.*.q"]]
        let patterns = random.chance(40) ? wish.patterns : others.randomElement(using: &random) ?? [">"]
        note("edit \(wish.name) \(patterns)")
        client.client.send(Edit(request: client.client.nextRequest(), durableName: wish.name, patterns: patterns))
    }

    private func takeNumber() -> UInt32 {
        defer { nextSubscription += 1 }
        return nextSubscription
    }

    private func filter(_ patterns: [String], _ object: String, uid: UInt32) -> Selection {
        Selection(
            filter: SubscriptionFilter(
                patterns: patterns.compactMap { try? NamePattern($0) }, object: object.isEmpty ? nil : object),
            uid: uid)
    }

    private func acknowledge() {
        guard let client = any({ $0.holds.values.contains { !$0.open.isEmpty } }),
            let (number, hold) = client.holds.filter({ !$0.value.open.isEmpty }).sorted(by: { $0.key < $1.key })
                .randomElement(using: &random)
        else { return }
        var ranges: [ClosedRange<UInt64>] = []
        switch Int.random(in: 0..<4, using: &random) {
        case 0: ranges = [0...(hold.open.randomElement(using: &random) ?? 0)]
        case 1: ranges = hold.open.shuffled(using: &random).prefix(3).map { $0...$0 }
        case 2:
            // The broker ignores sequences in the range that were not delivered in this attachment.
            guard let last = hold.open.randomElement(using: &random) else { return }
            ranges = [UInt64.random(in: 0...last, using: &random)...last]
        default:
            let last = hold.open.randomElement(using: &random) ?? 0
            let first = hold.open.filter { $0 <= last }.randomElement(using: &random) ?? last
            ranges = [first...last, first...last]
        }
        note("acknowledge \(client.client.id) \(number) \(ranges)")
        client.acknowledge(number, ranges, &model)
    }

    private func addCredit() {
        guard let client = any({ $0.holds.values.contains { $0.creditLeft != nil } }),
            let (number, hold) = client.holds.filter({ $0.value.creditLeft != nil }).sorted(by: { $0.key < $1.key })
                .randomElement(using: &random)
        else { return }
        let messages = UInt32.random(in: 1...10, using: &random)
        client.holds[number]?.creditLeft = (hold.creditLeft ?? 0) + UInt64(messages)
        note("credit \(client.client.id) \(number) \(messages)")
        client.client.send(Credit(subscription: number, messages: messages))
    }

    /// Lets a client monitor posts, trace a message or request a list. The answers are not checked.
    private func inspect() {
        guard let client = any()?.client else { return }
        let request = client.nextRequest()
        switch Int.random(in: 0..<5, using: &random) {
        case 4:
            let name = Self.durables.randomElement(using: &random)?.name ?? ""
            note("describe \(client.id) \(name)")
            client.send(Describe(request: request, durableName: name))
        case 0:
            note("monitor \(client.id)")
            let patterns = Self.volatilePatterns.randomElement(using: &random) ?? []
            client.send(MonitorRequest(request: request, patterns: patterns))
        case 1:
            let sequence = UInt64.random(in: 1...max(1, store.persistedThrough), using: &random)
            note("trace \(client.id) \(sequence)")
            client.send(TraceRequest(request: request, sequence: sequence))
        default:
            let subject = ListSubject.allCases.randomElement(using: &random) ?? .names
            note("list \(client.id) \(subject)")
            client.send(ListRequest(request: request, subject: subject))
        }
    }

    // MARK: Store and time

    private func storeWorks() {
        let failure: StorageFailure? = random.chance(8) ? (random.chance(50) ? .full : .broken) : nil
        guard let outcome = store.perform(failingWith: failure) else { return }
        note("store: \(describe(outcome))\(failure == nil ? "" : " failed")")
        happened.failures += failure == nil ? 0 : 1
        outcomes.append(outcome)
        model.check(store)
    }

    private func report() {
        guard !outcomes.isEmpty else { return }
        let outcome = outcomes.removeFirst()
        note("told: \(describe(outcome))")
        if case .page = outcome { happened.pages += 1 }
        if case .found = outcome { happened.searches += 1 }
        if case .committed(let committed) = outcome, case .success = committed.result {
            let batch = store.batches.last { $0.id == committed.batchID }
            model.reportedThrough = batch?.blocks.last?.entries.last?.sequence ?? model.reportedThrough
        }
        host.report(outcome)
    }

    private func describe(_ outcome: FakeStore.Outcome) -> String {
        switch outcome {
        case .committed(let outcome): "commit \(outcome.batchID)"
        case .page(let page): "page of \(page.reader)"
        case .measured: "measured"
        case .checked: "checked"
        case .summed: "summed"
        case .purged: "purged"
        case .found(let result): "found \(result)"
        }
    }

    private func advance() {
        let milliseconds = Int.random(in: 1...1500, using: &random)
        note("advance \(milliseconds)")
        host.advance(.milliseconds(milliseconds))
    }

    private func crash() {
        note("crash")
        happened.crashes += 1
        start()
    }

    /// Replaces the broker with a new one. Completed requests of the store persist, even if they were not reported.
    private func start() {
        clients = []
        outcomes = []
        host = TestHost(host.configuration, store: store, at: host.now.monotonic)
        model.reportedThrough = store.persistedThrough
        model.check(store)
    }

    /// Stops the broker cleanly and starts it again.
    private func stop() {
        note("stop")
        happened.stops += 1
        for client in clients { client.client.makeRoom() }
        let receivers = clients
        host.drain()
        for _ in 0..<1000 where !host.isDrained {
            tick()
            while let outcome = store.perform() { outcomes.append(outcome) }
            while !outcomes.isEmpty { report() }
        }
        tick()
        if !host.isDrained { model.fail("the drain does not end") }
        for client in receivers where !client.isClosing && !client.client.isClosed {
            model.fail("\(client.client.id) got no closing frame")
        }
        for client in receivers where !client.client.isClosed && !(client.unanswered.isEmpty && client.asked.isEmpty) {
            model.fail("\(client.client.id) got no answers: \(client.unanswered) \(client.asked)")
        }
        store.close(nextSequence: host.nextSequence)
        start()
    }

    // MARK: Completion

    /// Completes all work: every socket accepts its output, the store completes its requests, and every message is
    /// acknowledged. Checks that all messages were delivered.
    private func settleDown() {
        note("settle down")
        for client in clients { client.client.makeRoom() }
        comeToRest()
        for wish in Self.durables where store.subscriptions.values.contains(where: { $0.name == wish.name }) {
            guard
                !clients.contains(where: {
                    $0.uid == wish.uid && $0.holds.values.contains { isHeld($0, wish.name) }
                })
            else { continue }
            let client = connect(uid: wish.uid, overflow: .dropOldest, instance: instances[0])
            attach(
                client, wish, window: 0, credit: Subscribe.unlimitedCredit, from: .now, namesPatterns: false)
        }
        comeToRest()
        model.check(store)
        model.checkComplete(store)
        for client in clients {
            client.checkVolatileIsComplete(&model)
            if !client.unanswered.isEmpty || !client.asked.isEmpty {
                model.fail("\(client.client.id) got no answers: \(client.unanswered) \(client.asked)")
            }
        }
        for durable in host.durables {
            let reader = host.reader(durable.name, uid: durable.uid)
            if reader?.isLive != true {
                model.fail("'\(durable.name)' is not live: \(durable.state), \(reader as Any)")
            }
        }
    }

    private func isHeld(_ hold: SimulatedClient.Hold, _ name: String) -> Bool {
        store.subscriptions[hold.id]?.name == name
    }

    private func comeToRest() {
        for _ in 0..<5000 {
            host.advance(.milliseconds(100))
            tick()
            while let outcome = store.perform() { outcomes.append(outcome) }
            var isBusy = !outcomes.isEmpty || host.wantsTick
            while !outcomes.isEmpty { report() }
            for client in clients {
                for (number, hold) in client.holds {
                    if let credit = hold.creditLeft, credit < 100 {
                        client.holds[number]?.creditLeft = credit + 1000
                        client.client.send(Credit(subscription: number, messages: 1000))
                        isBusy = true
                    }
                    guard let last = hold.open.last else { continue }
                    client.acknowledge(number, [0...last], &model)
                    isBusy = true
                }
            }
            guard isBusy, violations.isEmpty else { return }
        }
        model.fail("the work does not end")
    }

    /// Disconnects all clients, and checks that no charges remain except for durable subscriptions and stored names.
    private func leave() {
        note("leave")
        for client in clients {
            for number in Array(client.holds.keys) + client.taken.keys { client.client.detach(number) }
        }
        comeToRest()
        for record in store.subscriptions.values {
            if record.progress.isAttached { model.fail("'\(record.name)' is still attached") }
            if !record.progress.acknowledged.isEmpty { model.fail("'\(record.name)' has \(record.progress)") }
            let last = store.messages.last { $0.isFor(record) }?.sequence ?? 0
            if record.progress.cursor < last { model.fail("'\(record.name)' stays at \(record.progress.cursor)") }
        }
        for client in clients { host.closed(client.client) }
        for uid in Self.users {
            for resource in Ledger.Resource.allCases {
                let amount = host.amount(of: resource, uid)
                let held = host.heldByDurables(resource, uid) ?? amount
                if amount != held { model.fail("user \(uid) is charged \(amount) instead of \(held) for \(resource)") }
            }
        }
        if host.connectionCount != 0 { model.fail("connections remain") }
        if host.volatileSubscriptionCount != 0 { model.fail("volatile subscriptions remain") }
    }
}
