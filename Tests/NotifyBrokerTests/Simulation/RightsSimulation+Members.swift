import NotifyLog
import NotifyWire
import TestSupport
import WireTestSupport

@testable import NotifyBroker

/// Actions of posters, members and administrators.
extension RightsSimulation {
    private func any(_ isWanted: (RightsMember) -> Bool = { _ in true }) -> RightsMember? {
        members.filter { host.processesImmediately($0.client) && isWanted($0) }.randomElement(using: &random)
    }

    // MARK: Posts

    func post() {
        for _ in 0..<Int.random(in: 1...5, using: &random) where host.processesImmediately(poster) {
            let family = NameFamily.allCases.randomElement(using: &random) ?? .open
            let before = host.lastSequence
            let payload = [UInt8](repeating: 0, count: .random(in: 0...200, using: &random))
            let request = poster.post(family.name, payload: payload, random.chance(30) ? .stored : .automatic)
            let sequence = host.lastSequence
            log("post \(family) \(sequence > before ? "\(sequence)" : "refused")")
            guard sequence > before else { continue }
            models[Self.jobs].posted(sequence, family)
            let isFor = models[Self.jobs].identities.contains { rights.permits(family, $0) }
            receipts[request] = isFor ? 1 : 0
        }
    }

    // MARK: Attaching

    func join() {
        // Some connections without a member end, to make room for others.
        for member in members where member.holds.isEmpty && !member.isLate && random.chance(30) {
            host.closed(member.client)
            members.removeAll { $0 === member }
        }
        guard members.count < plan.members else { return }
        let index = models.indices.randomElement(using: &random) ?? Self.jobs
        guard random.chance(60) else {
            attach(index)
            return
        }
        settle()
        guard allViolations.isEmpty, let member = attach(index), !host.core.broker.commits.health.isFailing else {
            return
        }
        let others = attachedIdentities(index, besides: member)
        let isRemembered = models[index].identities.contains(member.groups)
        let isFull = models[index].identities.count == DurableRecord.maximumOwners
        let expected = models[index].identities(afterAttachmentOf: member.groups, members: others)
        settle()
        guard member.holds[index]?.isAttached ?? false, !hasUnreadAnswer(index) else { return }
        if !isRemembered, isFull { note("an identity was forgotten") }
        if models[index].identities != expected {
            fail("'\(models[index].name)' has the identities \(models[index].identities) instead of \(expected)")
        }
    }

    /// Lets several members attach or leave before the next commit.
    func joinTogether() {
        let index = models.indices.randomElement(using: &random) ?? Self.jobs
        note("attached together")
        for _ in 0..<Int.random(in: 2...6, using: &random) {
            if random.chance(40) { leave(index) } else if members.count < plan.members + 3 { attach(index) }
        }
    }

    /// The identities of the members of a subscription.
    private func attachedIdentities(_ index: Int, besides member: RightsMember? = nil) -> Set<[UInt32]> {
        Set(members.filter { $0 !== member && $0.holds[index] != nil }.map(\.groups))
    }

    /// Whether the answer to an attachment may wait for a connection. The attachment may have failed, so the members
    /// are not known.
    private func hasUnreadAnswer(_ index: Int) -> Bool {
        members.contains { $0.isLate && !($0.holds[index]?.isAttached ?? true) }
    }

    /// Lets a client attach.
    ///
    /// - Returns: The member; nil if its attachment must be refused, or if it is not known whether it must be.
    @discardableResult
    func attach(_ index: Int, groups: [UInt32]? = nil) -> RightsMember? {
        let number = Int.random(in: 0..<plan.identities, using: &random)
        var member = any { $0.holds[index] == nil && !$0.isLate && groups == nil }
        if member == nil || random.chance(80) { member = connect(groups ?? RightsTable.groups(ofIdentity: number)) }
        guard let member else { return nil }
        let model = models[index]
        let others = attachedIdentities(index)
        let isRefused =
            model.sharing == .group && others.count == DurableRecord.maximumOwners && !others.contains(member.groups)
        guard !isRefused || !hasUnreadAnswer(index) else { return nil }
        let window = random.chance(40) ? UInt32.random(in: 1...4, using: &random) : 100
        let request = member.client.subscribe(
            RightsMember.number(index), [model.pattern], durable: model.name, from: .oldest, window: window,
            sharing: model.sharing, takesOver: model.sharing == .exclusive, settings: plan.settings(of: index))
        log("attach \(member.client.id) \(model.name) \(member.groups) window \(window)\(isRefused ? " refused" : "")")
        if isRefused {
            refusals[member.client.id, default: []].insert(request)
            return nil
        }
        if model.sharing == .exclusive {
            for other in members where other.holds.removeValue(forKey: index) != nil { note("taken over") }
            let given = models[index].messages.keys.filter { !models[index].isFinished($0) }
            models[index].ended(given, isFailure: false, waitsUntil: host.now.monotonic)
        }
        member.holds[index] = RightsMember.Hold(request: request)
        return member
    }

    private func connect(_ groups: [UInt32]) -> RightsMember {
        let peer = Peer(identity: Identity(uid: Self.uid, gid: RightsTable.everyone, groups: groups), pid: 1)
        let client = host.connect(peer, greeting: nil)
        client.send(Hello(instance: .next()))
        let member = RightsMember(client, groups: groups, permitted: rights.permitted(groups))
        members.append(member)
        return member
    }

    // MARK: Leaving

    func leave(_ wanted: Int? = nil) {
        guard let member = any({ wanted.map($0.holds.keys.contains) ?? !$0.holds.isEmpty }),
            let index = wanted ?? member.holds.keys.sorted().randomElement(using: &random)
        else { return }
        log("leave \(member.client.id) \(models[index].name)")
        note("left")
        models[index].ended(inFlight(to: member, index), isFailure: false, waitsUntil: host.now.monotonic)
        member.holds[index] = nil
        member.client.detach(RightsMember.number(index))
    }

    func disconnect() {
        guard let member = members.randomElement(using: &random) else { return }
        log("disconnect \(member.client.id)")
        note("disconnected")
        for index in member.holds.keys {
            models[index].ended(
                inFlight(to: member, index), isFailure: true, waitsUntil: host.now.monotonic + plan.maximumDelay)
        }
        if member.isLate { for index in models.indices { models[index].lostGaps() } }
        host.closed(member.client)
        members.removeAll { $0 === member }
    }

    /// The messages that are in flight to a member, as the broker knows.
    func inFlight(to member: RightsMember, _ index: Int) -> Set<UInt64> {
        let number = RightsMember.number(index)
        guard !member.client.isClosed, let durable = host.durable(models[index].name),
            case .durable(_, let place)? = host.connection(member.client).subscriptions[number],
            let id = durable._members.id(at: place)
        else { return [] }
        var cursor = durable._cursor
        return Set(cursor.takeAll(from: id).map(\.sequence) + host.redeliveriesInFlight(to: member.client, number))
    }

    // MARK: Answers

    private func anyHold() -> (member: RightsMember, index: Int, hold: RightsMember.Hold)? {
        guard let member = any({ $0.holds.values.contains { !$0.open.isEmpty } }),
            let (index, hold) = member.holds.filter({ !$0.value.open.isEmpty }).sorted(by: { $0.key < $1.key })
                .randomElement(using: &random)
        else { return nil }
        return (member, index, hold)
    }

    func acknowledge() {
        guard let (member, index, hold) = anyHold() else { return }
        let sequences = hold.open.shuffled(using: &random).prefix(.random(in: 1...4, using: &random))
        for sequence in sequences { acknowledge(member, index, sequence...sequence, [sequence]) }
    }

    /// Acknowledges a range of messages, including messages that were delivered to other members since.
    func acknowledgeAll() {
        guard let (member, index, hold) = anyHold(), !member.isLate,
            let last = hold.open.randomElement(using: &random)
        else { return }
        acknowledge(member, index, 0...last, hold.got.filter { $0 <= last }.sorted())
    }

    func acknowledge(_ member: RightsMember, _ index: Int, _ range: ClosedRange<UInt64>, _ sequences: [UInt64]) {
        // A frame that the broker queues takes effect later, possibly for other deliveries.
        guard host.processesImmediately(member.client) else { return }
        log("acknowledge \(member.client.id) \(models[index].name) \(range)")
        let held = inFlight(to: member, index)
        member.client.acknowledge(RightsMember.number(index), range)
        member.holds[index]?.open.removeAll(where: range.contains)
        guard let durable = host.durable(models[index].name) else { return }
        for sequence in sequences {
            if durable.redeliveryState(of: sequence) == nil, durable._cursor.state(of: sequence) == .acknowledged {
                note(held.contains(sequence) ? "acknowledged" : "acknowledged late")
                models[index].change(sequence) { $0.isAcknowledged = true }
            } else if held.contains(sequence) {
                fail("the acknowledgement of \(sequence) had no effect")
            }
        }
    }

    func reject() {
        guard let (member, index, hold) = anyHold(), let sequence = hold.open.randomElement(using: &random) else {
            return
        }
        var outcomes: [Reject.Outcome] = [.failed, .failed, .returned]
        if index == Self.jobs { outcomes.append(.dead) }
        let outcome = outcomes.randomElement(using: &random) ?? .failed
        let delay: Duration? = random.chance(50) ? .zero : nil
        log("reject \(member.client.id) \(models[index].name) \(sequence) \(outcome) \(delay as Any)")
        note("\(outcome)")
        // After a late rejection, the member may still acknowledge the message.
        if inFlight(to: member, index).contains(sequence) { member.holds[index]?.got.remove(sequence) }
        member.client.reject(RightsMember.number(index), sequence, outcome, delay: delay)
        member.holds[index]?.open.removeAll { $0 == sequence }
        models[index].ended(
            [sequence], isFailure: outcome != .returned, waitsUntil: host.now.monotonic + plan.maximumDelay)
    }

    func extend() {
        // Without a deadline in the settings, an extension would set one.
        guard plan.settings.deadlineMicroseconds != 0 else { return }
        guard let (member, index, hold) = anyHold(), let sequence = hold.open.randomElement(using: &random) else {
            return
        }
        member.client.extend(RightsMember.number(index), sequence, by: .milliseconds(200))
    }

    // MARK: Sockets

    func block() {
        guard let member = members.randomElement(using: &random) else { return }
        log("block \(member.client.id)")
        note("blocked")
        member.isLate = true
        member.client.stopTaking()
    }

    func unblock() {
        guard let member = members.filter(\.isLate).randomElement(using: &random) else { return }
        log("unblock \(member.client.id)")
        member.client.makeRoom(random.chance(30) ? .random(in: 1...400, using: &random) : .max)
    }

    // MARK: Administration

    func changePolicy() {
        // This writes the output that was decided under the earlier policy.
        tick()
        note("policy changed")
        for _ in 0..<Int.random(in: 1...2, using: &random) {
            rights.change(NameFamily.restricted.randomElement(using: &random) ?? .red, using: &random)
        }
        setPolicy()
    }

    func setPolicy() {
        log("policy \(rights)")
        generation += 1
        host.core.broker.policyChanged(to: rights.policy(generation))
        for index in models.indices { models[index].rightsChanged(to: rights) }
        for member in members { member.rightsChanged(to: rights) }
    }

    /// Delivers dead letters again.
    func retryLetters() {
        log("retry")
        note("retried")
        poster.send(DeadLetters(request: poster.nextRequest(), uid: Self.uid, action: .retry, durableName: "jobs"))
    }

    /// Connects a client with volatile subscriptions to everything.
    static func watch(
        _ host: TestHost, _ random: inout SeededGenerator
    ) -> (client: Client, groups: [UInt32]) {
        let groups = RightsTable.groups(ofIdentity: .random(in: 0..<8, using: &random))
        let peer = Peer(identity: Identity(uid: uid, gid: RightsTable.everyone, groups: groups), pid: 1)
        let client = host.connect(peer, greeting: nil)
        client.send(Hello(instance: .next()))
        client.subscribe(9, [">"])
        client.subscribe(10, ["notifyd.dead.\(uid)"])
        return (client, groups)
    }
}
