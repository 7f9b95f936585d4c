import NotifyLog
import NotifyWire
import TestSupport
import WireTestSupport

@testable import NotifyBroker

/// Groups, answers and dead letters.
extension Simulation {
    // MARK: Subscribing

    /// Joins a group. Rarely changes the sharing of a subscription, or takes it over.
    func subscribeGroup() {
        guard
            var wish = Self.durables.filter({ $0.sharing == .group || random.chance(10) }).randomElement(
                using: &random),
            let client = any({ $0.uid == wish.uid })
        else { return }
        if let sharing = host.durable(wish.name, uid: wish.uid)?.settings.sharing { wish.sharing = sharing }
        let changes = random.chance(4)
        if changes { wish.sharing = wish.sharing == .group ? .exclusive : .group }
        let window = random.chance(50) ? 0 : UInt32.random(in: 1...6, using: &random)
        let credit = random.chance(60) ? Subscribe.unlimitedCredit : UInt32.random(in: 0...8, using: &random)
        attach(
            client, wish, window: window, credit: credit, from: randomStart(), namesPatterns: random.chance(50),
            takesOver: changes || random.chance(10))
    }

    func randomSettings() -> DurableSettingChanges {
        var settings = DurableSettingChanges()
        if random.chance(60) { settings.deadlineMicroseconds = 0 }
        if !model.work.usesDeadlines {
            settings.deadlineMicroseconds = 0
        } else if random.chance(25) {
            settings.deadlineMicroseconds = .random(in: 100_000...2_000_000, using: &random)
        }
        if random.chance(80) {
            settings.retryDelays = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                random.chance(30) ? 0 : UInt64.random(in: 1...2_000_000, using: &random)
            }
        }
        if random.chance(60) { settings.maximumDeliveries = .random(in: 0...4, using: &random) }
        if random.chance(20) { settings.maximumInFlight = .random(in: 1...10, using: &random) }
        return settings
    }

    func configure() {
        guard let wish = Self.durables.randomElement(using: &random), let client = any({ $0.uid == wish.uid }) else {
            return
        }
        let changes = randomSettings()
        note("configure \(wish.name) \(changes)")
        happened.settings += 1
        model.work.set(changes, of: wish.name, sharing: nil)
        model.work.configured.insert(wish.name)
        client.client.send(
            Configure(request: client.client.nextRequest(), durableName: wish.name, changes: changes))
    }

    // MARK: Answers

    private func openHold() -> (client: SimulatedClient, number: UInt32, hold: SimulatedClient.Hold)? {
        guard let client = any({ $0.holds.values.contains { !$0.open.isEmpty } }),
            let (number, hold) = client.holds.filter({ !$0.value.open.isEmpty }).sorted(by: { $0.key < $1.key })
                .randomElement(using: &random)
        else { return nil }
        return (client, number, hold)
    }

    func reject() {
        guard let (client, number, hold) = openHold() else { return }
        let outcomes: [Reject.Outcome] = [.failed, .failed, .failed, .returned, .dead]
        let delay: Duration? =
            random.chance(50) ? nil : random.chance(30) ? .zero : .milliseconds(.random(in: 1...2000, using: &random))
        for sequence in hold.open.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)) {
            let outcome = outcomes.randomElement(using: &random) ?? .failed
            note("reject \(client.client.id) \(number) \(hold.name) \(sequence) \(outcome) \(delay as Any)")
            happened.rejections += 1
            client.reject(number, sequence, outcome, delay: delay, &model)
        }
    }

    func extend() {
        guard let (client, number, hold) = openHold() else { return }
        let sequences = hold.open.shuffled(using: &random).prefix(3).sorted()
        let microseconds: UInt64 =
            random.chance(50) || !model.work.usesDeadlines ? 0 : .random(in: 100_000...3_000_000, using: &random)
        note("extend \(client.client.id) \(number) \(hold.name) \(sequences) \(microseconds)")
        happened.extensions += 1
        client.holds[number]?.isExtended = true
        if microseconds > 0 { model.work.timed.insert(hold.name) }
        client.client.send(Extend(subscription: number, sequences: sequences, microseconds: microseconds))
    }

    // MARK: Dead letters

    func workOnDeadLetters() {
        guard let wish = Self.durables.randomElement(using: &random), let client = any({ $0.uid == wish.uid }) else {
            return
        }
        let action: DeadLetters.Action = model.work.isPurging && random.chance(40) ? .purge : .retry
        let name = random.chance(60) ? wish.name : ""
        for other in Self.durables where action == .retry && (other.name == name || name.isEmpty) {
            model.work.renewals[other.name, default: 0] += 1
        }
        let known = store.messages.filter(\.isDeadLetter).map(\.sequence)
        let sequences = random.chance(50) ? [] : known.shuffled(using: &random).prefix(3).sorted()
        note("\(action) \(name) \(sequences)")
        client.client.send(
            DeadLetters(
                request: client.client.nextRequest(), action: action, durableName: name, sequences: sequences))
    }

    /// Records the dead letters that the broker has posted for a subscription.
    func noteLetters(of id: DurableID, after before: UInt64) {
        guard host.lastSequence > before, let durable = host.durables.first(where: { $0.id == id }) else { return }
        let post = ReferenceModel.Posted(
            name: Array("\(DeadLetterHeaders.namePrefix)\(durable.uid)".utf8), object: Array(durable.name.utf8),
            number: nil, time: host.now.monotonic)
        for sequence in before + 1...host.lastSequence {
            note("dead letter \(sequence) of \(durable.name)")
            happened.letters += 1
            model.accepted(post, as: sequence)
            for client in clients where !client.client.isClosed && !host.isClosing(client.client) {
                if client.taken.values.contains(where: { $0.selects(post.name, post.object) }) {
                    client.expected.append(sequence)
                }
            }
        }
    }

    /// Records the dead letters that a new broker has posted before any client connected.
    func noteRecoveredLetters() {
        for message in store.messages where message.isDeadLetter && model.posts[message.sequence] == nil {
            model.accepted(
                ReferenceModel.Posted(
                    name: message.name, object: message.object, number: nil, time: host.now.monotonic),
                as: message.sequence)
        }
    }

    // MARK: Checks

    /// Whether messages of ended members, redeliveries to clients, or messages to become dead letters still need work.
    var hasRows: Bool {
        host.durables.contains { durable in
            !durable.endedMembers.isEmpty || durable.state == .attached && durable.redeliveryCount > 0
        } || store.copies.values.contains { $0.values.contains { $0.row.isDead } }
    }

    /// Counts the messages that each member of a subscription holds, and compares them with the broker's sums.
    func checkCounts(_ durable: DurableSubscription) {
        var (cursor, redeliveries) = (durable._cursor, durable._redeliveries)
        let members = Array(durable._members.all)
        happened.shared += members.count > 1 ? 1 : 0
        for member in members {
            let first = cursor.takeAll(from: member.id).count
            let again = redeliveries.ended(member.id).count
            if member.unacknowledged != first + again {
                model.fail("'\(durable.name)' counts \(member.unacknowledged) for a member with \(first) + \(again)")
            }
            if member.unacknowledged > member.attachment.window { model.fail("'\(durable.name)' exceeds a window") }
        }
        let active = members.contains { !$0.isStalled } ? members.filter { !$0.isStalled } : members
        if durable._members.room != active.reduce(0, { $0 + $1.room }) {
            model.fail("'\(durable.name)' has room for \(durable._members.room), its members differ: \(members)")
        }
        let sum = members.reduce(0) { $0 + $1.unacknowledged }
        if durable.unacknowledged != sum { model.fail("'\(durable.name)' counts \(sum) in flight wrongly") }
        let limit = Int(durable.settings.maximumInFlight)
        if limit > 0, sum > limit, !model.work.configured.contains(durable.name) {
            model.fail("'\(durable.name)' has \(sum) in flight, the limit is \(limit)")
        }
    }
}
