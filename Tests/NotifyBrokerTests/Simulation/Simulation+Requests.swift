import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import WireTestSupport

@testable import NotifyBroker

/// Actions of clients.
extension Simulation {
    // MARK: Clients

    func connect() {
        guard clients.count < 8 else { return }
        let uid = Self.users.randomElement(using: &random) ?? 0
        let overflow: OverflowPolicy = random.chance(5) ? .disconnect : random.chance(40) ? .keepLatest : .dropOldest
        let instance = instances.randomElement(using: &random) ?? instances[0]
        connect(uid: uid, overflow: overflow, instance: instance)
    }

    @discardableResult
    func connect(uid: UInt32, overflow: OverflowPolicy, instance: InstanceID) -> SimulatedClient {
        let client = host.connect(Peer(uid: uid, gid: uid, pid: 1), greeting: nil)
        client.send(Hello(overflow: overflow, instance: instance))
        let simulated = SimulatedClient(client, uid: uid, overflow: overflow)
        clients.append(simulated)
        note("connect \(client.id) \(uid) \(overflow) \(instance.low)")
        return simulated
    }

    func disconnect() {
        guard let client = clients.randomElement(using: &random) else { return }
        note("disconnect \(client.client.id)")
        model.work.deaths[client.uid, default: 0] += 1
        host.closed(client.client)
        clients.removeAll { $0 === client }
    }

    func changeRoom() {
        guard let client = clients.randomElement(using: &random) else { return }
        let room = random.chance(40) ? 0 : random.chance(50) ? Int.random(in: 1...2000, using: &random) : .max
        note("room \(client.client.id) \(room)")
        if room == 0 { client.client.stopTaking() } else { client.client.makeRoom(room) }
    }

    // MARK: Posts

    func post() {
        for _ in 0..<Int.random(in: 1...6, using: &random) { postOne() }
    }

    func postOne() {
        // A post that the broker queues is accepted later, when other subscriptions may exist.
        guard let client = any(), host.processesImmediately(client.client) else { return }
        let name = Self.names.randomElement(using: &random) ?? "a.x"
        let object = Self.objects.randomElement(using: &random) ?? ""
        let durability = Durability.allCases.randomElement(using: &random) ?? .automatic
        let number = nextPost
        nextPost += 1
        let padding = [UInt8](repeating: 0, count: Int.random(in: 0...(random.chance(10) ? 600 : 60), using: &random))
        let payload = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } + padding
        let post = ReferenceModel.Posted(
            name: Array(name.utf8), object: Array(object.utf8), number: number, time: host.now.monotonic)
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

    func subscribeVolatile() {
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

    func subscribeDurable() {
        guard let wish = Self.durables.randomElement(using: &random), let client = any({ $0.uid == wish.uid }) else {
            return
        }
        let window = random.chance(50) ? 0 : UInt32.random(in: 1...6, using: &random)
        let credit = random.chance(60) ? Subscribe.unlimitedCredit : UInt32.random(in: 0...8, using: &random)
        attach(client, wish, window: window, credit: credit, from: randomStart(), namesPatterns: random.chance(50))
    }

    func randomStart() -> LogPosition {
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1: .now
        case 2: .oldest
        case 3: .sequence(.random(in: 1...host.lastSequence + 2, using: &random))
        case 4: .age(microseconds: .random(in: 0...3_000_000, using: &random))
        default:
            // The time is at most two seconds in the future.
            .time(microseconds: host.now.wallMicroseconds + 2_000_000 - .random(in: 0...5_000_000, using: &random))
        }
    }

    func attach(
        _ client: SimulatedClient, _ wish: Wanted, window: UInt32, credit: UInt32, from start: LogPosition,
        namesPatterns: Bool, takesOver: Bool = false
    ) {
        let number = takeNumber()
        let settings = randomSettings()
        model.work.set(settings, of: wish.name, sharing: wish.sharing)
        let request = client.client.subscribe(
            number, namesPatterns ? wish.patterns.shuffled(using: &random) : [], object: wish.object,
            durable: wish.name, from: start,
            window: window, credit: credit, sharing: wish.sharing, takesOver: takesOver, settings: settings)
        client.asked[request] = SimulatedClient.Wish(
            number: number, filter: filter(wish.patterns, wish.object, uid: wish.uid),
            durable: (
                name: wish.name, window: Int(window == 0 ? host.configuration.defaultWindow : window), credit: credit
            ))
        note(
            "attach \(client.client.id) \(number) \(wish.name) window \(window) credit \(credit) \(start) \(wish.sharing)"
        )
    }

    func detach() {
        guard let client = any(),
            let number = (Array(client.taken.keys) + client.holds.keys + client.asked.values.map(\.number))
                .sorted().randomElement(using: &random)
        else { return }
        note("detach \(client.client.id) \(number)")
        client.client.detach(number)
        client.taken[number] = nil
    }

    func remove() {
        guard let wish = Self.durables.randomElement(using: &random), let client = any({ $0.uid == wish.uid }) else {
            return
        }
        note("remove \(wish.name)")
        model.work.renewals[wish.name, default: 0] += 1
        client.client.remove(wish.name)
    }

    func reset() {
        guard let wish = Self.durables.randomElement(using: &random), let client = any({ $0.uid == wish.uid }) else {
            return
        }
        let position = randomStart()
        note("reset \(wish.name) \(position)")
        client.client.send(Reset(request: client.client.nextRequest(), durableName: wish.name, to: position))
    }

    /// Gives a subscription other patterns, or the patterns of its creation again.
    func edit() {
        guard let wish = Self.durables.randomElement(using: &random), let client = any({ $0.uid == wish.uid }) else {
            return
        }
        let others = Self.durables.map(\.patterns) + [["b.>"], ["a.y", "user.*.q"]]
        let patterns = random.chance(40) ? wish.patterns : others.randomElement(using: &random) ?? [">"]
        note("edit \(wish.name) \(patterns)")
        client.client.send(Edit(request: client.client.nextRequest(), durableName: wish.name, patterns: patterns))
    }

    func takeNumber() -> UInt32 {
        defer { nextSubscription += 1 }
        return nextSubscription
    }

    func filter(_ patterns: [String], _ object: String, uid: UInt32) -> Selection {
        Selection(
            filter: SubscriptionFilter(
                patterns: patterns.compactMap { try? NamePattern($0) }, object: object.isEmpty ? nil : object),
            uid: uid)
    }

    func acknowledge() {
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
        acknowledge(client, number, ranges)
    }

    func acknowledge(_ client: SimulatedClient, _ number: UInt32, _ ranges: [ClosedRange<UInt64>]) {
        // An acknowledgement that the broker queues also applies to messages that are redelivered before its turn. A
        // message whose deadline has passed counts as acknowledged, even if the client had not read it.
        let hold = client.holds[number]
        let isExact =
            host.processesImmediately(client.client) && !(hold.map { model.work.timed.contains($0.name) } ?? false)
        let underway =
            isExact
            ? host.redeliveriesInFlight(to: client.client, number)
            : hold.flatMap { store.copies[$0.id] }.map { Array($0.keys) } ?? []
        client.acknowledge(number, ranges, underway: underway, &model)
    }

    func addCredit() {
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
    func inspect() {
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
}
