import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Members of a durable subscription with one uid and different groups. Each member gets only messages that it may
/// receive itself.
struct MemberRightsTests {
    private static let group: UInt32 = 5_000

    /// Only members of the group may receive names under `secret`.
    private static func policy(_ generation: UInt32 = 0, gids: Set<UInt32> = [group]) -> AccessPolicy {
        AccessPolicy(
            generation: generation,
            rules: [
                AccessRule(.deny, [.subscribe], names: ["secret.>"]),
                AccessRule(.allow, [.subscribe], names: ["secret.>"], gids: gids),
            ])
    }

    private let host = TestHost(policy: policy())

    private func attach(
        _ isPrivileged: Bool, on host: TestHost? = nil, sharing: DurableSharing = .group, window: UInt32 = 0,
        takesOver: Bool = false
    ) -> Client {
        let client = (host ?? self.host).connect(groups: isPrivileged ? [Self.group] : [])
        client.subscribe(
            1, [">"], durable: "jobs", from: .oldest, window: window, sharing: sharing, takesOver: takesOver)
        run(host)
        return client
    }

    /// Lets the broker finish its work, including the work that it does a moment later.
    private func run(_ host: TestHost? = nil) {
        let host = host ?? self.host
        host.run()
        host.advance(.milliseconds(100))
        host.run()
    }

    private func leave(_ client: Client, on host: TestHost? = nil) {
        (host ?? self.host).closed(client)
        run(host)
    }

    /// Posts messages that only members of the group may receive, followed by messages that every client may receive.
    private func post(secret: Int = 4, open: Int = 1, on host: TestHost? = nil) {
        let poster = (host ?? self.host).connect(uid: 0)
        for _ in 0..<secret { poster.post("secret.a") }
        for _ in 0..<open { poster.post("open.a") }
        run(host)
    }

    private func names(_ client: Client) -> [String] { client.takeMessages().map(\.name) }

    private func answerAll(_ client: Client) -> [String] {
        let messages = client.takeMessages()
        for message in messages { client.acknowledge(1, message.sequence...message.sequence) }
        run()
        return messages.map(\.name)
    }

    private func withheld(_ client: Client, on host: TestHost? = nil) -> UInt32? {
        _ = client.take()
        client.send(Describe(request: client.nextRequest(), durableName: "jobs"))
        (host ?? self.host).run()
        return client.take().compactMap {
            if case .durableDescription(let description) = $0 { description.withheld } else { nil }
        }.first
    }

    @Test(arguments: [false, true])
    func `each of two members of a group gets the messages that it may receive`(_ isFirst: Bool) {
        let first = attach(isFirst)
        let second = attach(!isFirst)
        let (privileged, other) = isFirst ? (first, second) : (second, first)
        for _ in 0..<10 { post() }
        let received = names(privileged)
        #expect(received.count { $0 == "secret.a" } == 40)
        #expect(names(other).allSatisfy { $0 == "open.a" })
        #expect(host.durable("jobs")?.redeliveryCount == 0, "no copy is needed while the member has room")
    }

    @Test func `messages that no attached member may receive wait for one that may`() {
        leave(attach(true))
        let other = attach(false)
        post()
        #expect(names(other) == ["open.a"])
        #expect(withheld(other) == 4)
        #expect(host.durable("jobs")?.position == 4, "the cursor passes them")
        other.acknowledge(1, 1...5)
        host.run()
        let privileged = attach(true)
        let messages = privileged.takeMessages()
        #expect(messages.map(\.sequence).sorted() == [1, 2, 3, 4])
        #expect(messages.allSatisfy { $0.delivery == 1 }, "no failure is counted")
        privileged.acknowledge(1, 1...4)
        run()
        #expect(withheld(privileged) == 0)
        #expect(host.store.copies.values.allSatisfy { $0.isEmpty })
    }

    @Test(arguments: [0, 1 << 20])
    func `messages from before the attachment are withheld, too, from the ring and from pages`(_ ring: Int) {
        var configuration = BrokerConfiguration()
        configuration.tailRingBytes = ring
        let host = TestHost(configuration, policy: Self.policy())
        leave(attach(true, on: host), on: host)
        post(on: host)
        let other = attach(false, on: host)
        #expect(names(other) == ["open.a"])
        #expect(withheld(other, on: host) == 4)
        #expect(attach(true, on: host).takeMessages().map(\.sequence).sorted() == [1, 2, 3, 4])
    }

    @Test func `an exclusive subscription keeps messages that its new holder may not receive`() {
        let privileged = attach(true, sharing: .exclusive)
        post()
        #expect(names(privileged).count == 5)
        let other = attach(false, sharing: .exclusive, takesOver: true)
        #expect(names(other) == ["open.a"])
        #expect(withheld(other) == 4)
        let back = attach(true, sharing: .exclusive, takesOver: true)
        #expect(names(back).sorted() == ["open.a", "secret.a", "secret.a", "secret.a", "secret.a"])
    }

    @Test func `a message that failed is redelivered to a member that may receive it`() {
        let (other, privileged) = (attach(false), attach(true))
        post(secret: 1, open: 0)
        let sequence = host.lastSequence
        for message in privileged.takeMessages() { privileged.reject(1, message.sequence, delay: .zero) }
        run()
        #expect(privileged.takeMessages().map(\.delivery) == [2])
        host.closed(privileged)
        host.advance(.seconds(120))
        run()
        #expect(other.takeMessages().isEmpty)
        #expect(withheld(other) == 1)
        // A client without the right must not conclude from the error that the message does not exist.
        for (traced, code) in [(sequence, ErrorCode.forbidden), (1 << 40, .unknownMessage)] {
            other.send(TraceRequest(request: other.nextRequest(), sequence: traced))
            run()
            #expect(other.takeErrors().map(\.code) == [code.rawValue])
        }
        #expect(attach(true).takeMessages().map(\.delivery) == [3], "the failures are kept")
    }

    @Test func `withheld messages hold up no other message and no member`() {
        leave(attach(true))
        let other = attach(false, window: 2)
        // All this happens within the deadline of a message.
        for _ in 0..<60 {
            let poster = host.connect(uid: 0)
            for name in [[String]](repeating: ["secret.a", "open.a"], count: 10).joined() { poster.post(name) }
            run()
        }
        var received = 0
        while true {
            let messages = answerAll(other)
            guard !messages.isEmpty else { break }
            received += messages.count
        }
        #expect(received == 600)
        #expect(withheld(other) == 600)
    }

    @Test func `if withheld messages use up the user's share, the oldest are dropped, and no member stops`() {
        var configuration = BrokerConfiguration()
        configuration.userLimits.general.storedBytes = 1 << 20
        let host = TestHost(configuration, policy: Self.policy())
        leave(attach(true, on: host), on: host)
        let other = attach(false, on: host)
        var received = 0
        var dropped: UInt64 = 0
        for uid in 0..<40 as Range<UInt32> {
            // Each post is of another user, because the limit applies to each user.
            let poster = host.connect(uid: 2000 + uid)
            poster.post("secret.a", payload: [UInt8](repeating: 1, count: 128 << 10))
            poster.post("open.a")
            run(host)
            for frame in other.take() {
                switch frame {
                case .message(let message):
                    received += 1
                    other.acknowledge(1, message.sequence...message.sequence)
                case .gap(let gap):
                    #expect(gap.reason == .deleted)
                    dropped += gap.dropped
                default: break
                }
            }
        }
        run(host)
        #expect(received == 40)
        let left = UInt64(withheld(other, on: host) ?? 0)
        #expect(dropped > 0 && left > 0 && dropped + left == 40)
        let privileged = attach(true, on: host)
        #expect(privileged.takeMessages().filter { $0.name == "secret.a" }.count == Int(left))
    }

    @Test func `a member without room gets its messages later, and holds up no other member`() {
        let (other, privileged) = (attach(false), attach(true, window: 1))
        for _ in 0..<10 { post(secret: 1) }
        #expect(names(other).count { $0 == "open.a" } >= 9)
        var secret = 0
        while true {
            let messages = answerAll(privileged)
            guard !messages.isEmpty else { break }
            secret += messages.count { $0 == "secret.a" }
        }
        #expect(secret == 10)
    }

    @Test func `messages that no identity may receive after a change of the policy are dropped with a gap`() {
        leave(attach(true))
        let other = attach(false)
        post()
        _ = other.take()
        host.core.broker.policyChanged(to: Self.policy(1, gids: [9]))
        run()
        let gaps = other.take().compactMap { if case .gap(let gap) = $0 { gap } else { nil } }
        #expect(gaps == [Gap(reason: .forbidden, subscription: 1, dropped: 4, range: .init(first: 1, last: 4))])
        #expect(host.durable("jobs")?.redeliveryCount == 0)
        #expect(host.store.copies.values.allSatisfy { $0.isEmpty })
    }

    // MARK: Without a client

    /// Withholds messages for a privileged client, and then disconnects the last client.
    private func withhold() {
        leave(attach(true))
        let other = attach(false)
        post()
        other.acknowledge(1, 5...5)
        leave(other)
    }

    private func description(on host: TestHost? = nil) -> DurableDescription? {
        let host = host ?? self.host
        let client = host.connect(uid: 0)
        client.send(Describe(request: client.nextRequest(), uid: 1000, durableName: "jobs"))
        host.run()
        return client.take().compactMap {
            if case .durableDescription(let description) = $0 { description } else { nil }
        }.first
    }

    private func gaps(_ client: Client) -> [Gap] {
        client.take().compactMap { if case .gap(let gap) = $0 { gap } else { nil } }
    }

    private static let loss = Gap(
        reason: .deleted, isUpperBound: true, subscription: 1, dropped: 4, range: .init(first: 1, last: 4))

    @Test func `a new policy drops messages while no client is attached, and the next client gets a gap`() {
        withhold()
        #expect(description()?.withheld == 4)
        host.core.broker.policyChanged(to: Self.policy(1, gids: [9]))
        run()
        #expect(description()?.withheld == 0)
        #expect(description()?.entry.pending?.messages == 0)
        #expect(host.store.copies.values.allSatisfy { $0.isEmpty })
        #expect(gaps(attach(false)) == [Self.loss])
    }

    @Test func `the gap for messages dropped without a client survives a restart`() {
        withhold()
        host.core.broker.policyChanged(to: Self.policy(1, gids: [9]))
        run()
        let next = TestHost(policy: Self.policy(1, gids: [9]), store: host.store)
        #expect(gaps(attach(false, on: next)) == [Self.loss])
    }

    @Test func `a failed commit does not lose the gap`() {
        withhold()
        host.core.broker.policyChanged(to: Self.policy(1, gids: [9]))
        for _ in 0..<100 where host.durable("jobs")?.redeliveryCount != 0 {
            host.work()
            host.tick()
        }
        host.advance(.milliseconds(100))
        host.tick()
        #expect(host.work(failingWith: .full))
        #expect(host.store.subscription(named: "jobs")?.loss == nil)
        host.advance(.seconds(2))
        run()
        #expect(host.store.subscription(named: "jobs")?.loss?.count == 4)
        #expect(host.store.copies.values.allSatisfy { $0.isEmpty })
    }

    @Test(arguments: [false, true])
    func `messages dropped after an acknowledged gap have a gap of their own`(isInFlight: Bool) {
        leave(attach(true))
        let other = attach(false)
        let poster = host.connect(uid: 0)
        for name in ["secret.a", "secret.a", "secret.b", "secret.b"] { poster.post(name) }
        run()
        leave(other)
        host.core.broker.policyChanged(
            to: AccessPolicy(
                generation: 1,
                rules: Self.policy().allRules.suffix(2) + [AccessRule(.deny, [.subscribe], names: ["secret.b"])]))
        run()
        let again = attach(false)
        #expect(gaps(again).map(\.range) == [.init(first: 3, last: 4)])
        poster.post("open.a")
        host.run()
        again.acknowledge(1, 5...5)
        if isInFlight {
            host.advance(.milliseconds(60))
            host.tick()
        }
        host.closed(again)
        host.core.broker.policyChanged(to: Self.policy(2, gids: [9]))
        run()
        run()
        #expect(gaps(attach(false)).map(\.dropped) == [2])
        #expect(host.store.subscription(named: "jobs")?.loss?.count == 2)
    }

    @Test func `without a client, returned messages do not count towards the limit of withheld ones`() {
        let privileged = attach(true)
        leave(attach(false))
        post(open: 0)
        for message in privileged.takeMessages() { privileged.reject(1, message.sequence, .returned, delay: .zero) }
        leave(privileged)
        run()
        #expect(description()?.withheld == 4)
        #expect(host.durable("jobs")?._redeliveries.withheld.count == 0, "withheld messages have a limit of their own")
    }

    @Test func `messages that a client who has left at once may not receive count as withheld`() {
        let privileged = attach(true)
        post(open: 0)
        for message in privileged.takeMessages() { privileged.reject(1, message.sequence, .returned, delay: .zero) }
        leave(privileged)
        #expect(description()?.withheld == 0)
        let other = host.connect()
        other.subscribe(1, [">"], durable: "jobs", from: .oldest, sharing: .group)
        host.tick()
        leave(other)
        #expect(description()?.withheld == 4)
    }

    @Test func `the rights to copies in flight are checked after an edit has ended the attachment`() {
        let privileged = attach(true)
        leave(attach(false))
        post(open: 0)
        for message in privileged.takeMessages() { privileged.reject(1, message.sequence, .failed, delay: .zero) }
        run()
        #expect(privileged.takeMessages().count == 4)
        host.core.broker.policyChanged(to: Self.policy(1, gids: [9]))
        run()
        let root = host.connect(uid: 0)
        root.send(
            Edit(request: root.nextRequest(), uid: 1000, durableName: "jobs", patterns: [">", "other"]))
        run()
        run()
        #expect(root.takeErrors().isEmpty)
        #expect(description()?.entry.pending?.messages == 0)
        #expect(host.durable("jobs")?.loss?.count == 4)
    }

    @Test func `an edit whose commit fails drops no withheld message`() {
        withhold()
        let client = host.connect()
        client.send(Edit(request: client.nextRequest(), durableName: "jobs", patterns: ["open.>"]))
        host.core.broker.policyChanged(to: Self.policy(1))
        host.tick()
        host.work(failingWith: .full)
        host.advance(.seconds(2))
        run()
        #expect(client.takeErrors().map(\.code) == [ErrorCode.logFull.rawValue])
        #expect(description()?.withheld == 4)
    }

    @Test func `a start drops messages that no client may receive any more, and counts the others`() {
        withhold()
        for (gids, withheld, lost) in [([Self.group], 4, nil), ([9], 0, 4)] as [(Set<UInt32>, UInt32, UInt64?)] {
            let next = TestHost(policy: Self.policy(gids: gids), store: host.store)
            for _ in 0..<2 { run(next) }
            #expect(description(on: next)?.withheld == withheld)
            #expect(next.store.subscription(named: "jobs")?.loss?.count == lost)
        }
    }

    @Test func `messages that every client may receive do not count as withheld`() {
        leave(attach(true))
        let other = attach(false)
        post(secret: 0, open: 10)
        for message in other.takeMessages() { other.reject(1, message.sequence, .returned, delay: .zero) }
        leave(other)
        run()
        #expect(description()?.withheld == 0)
        #expect(description()?.entry.pending?.messages == 10)
        #expect(host.durable("jobs")?._redeliveries.evaluatedDue[.everyone]?.count == 10)
        #expect(host.durable("jobs")?._redeliveries.withheld.count == 0)
        #expect(attach(false).takeMessages().count == 10)
    }

    // MARK: Policies

    @Test func `a policy that permits withheld messages to an attached member delivers them`() {
        leave(attach(true))
        let other = attach(false)
        post()
        _ = other.take()
        host.core.broker.policyChanged(to: Self.policy(1, gids: [1_000, Self.group]))
        run()
        #expect(other.takeMessages().map(\.sequence).sorted() == [1, 2, 3, 4])
    }

    @Test func `withheld messages survive a restart`() {
        leave(attach(true))
        let other = attach(false)
        post()
        other.acknowledge(1, 1...5)
        leave(other)
        let next = TestHost(policy: Self.policy(), store: host.store)
        let again = attach(false, on: next)
        #expect(again.takeMessages().isEmpty)
        #expect(withheld(again, on: next) == 4)
        #expect(attach(true, on: next).takeMessages().map(\.sequence).sorted() == [1, 2, 3, 4])
    }

    @Test func `messages that only a forgotten identity may receive are dropped with a gap`() {
        leave(attach(true))
        let other = attach(false)
        post()
        _ = other.take()
        for group in 1...8 as ClosedRange<UInt32> {
            let client = host.connect(groups: [group])
            client.subscribe(1, [">"], durable: "jobs", sharing: .group)
            run()
            leave(client)
        }
        let gaps = other.take().compactMap { if case .gap(let gap) = $0 { gap.reason } else { nil } }
        #expect(gaps == [.forbidden])
    }

    /// Attaches a client with another identity.
    private func attach(group: UInt32, to host: TestHost? = nil) -> Client {
        let client = (host ?? self.host).connect(groups: [group])
        client.subscribe(1, [">"], durable: "jobs", sharing: .group)
        run(host)
        return client
    }

    private func owners(_ host: TestHost) -> [[UInt32]]? {
        host.durable("jobs")?.identities.inOrder.map { host.core.broker.access.identity($0).groups }
    }

    @Test func `an identity with a member is not forgotten when other identities attach`() {
        let privileged = attach(true)
        let other = attach(false)
        leave(other)
        for group in 1...20 as ClosedRange<UInt32> { leave(attach(group: group)) }
        post()
        #expect(names(privileged).count { $0 == "secret.a" } == 4)
        #expect(owners(host)?.contains([Self.group]) == true)
        #expect(host.store.subscription(named: "jobs")?.owners.map(\.groups) == owners(host), "the log agrees")
    }

    @Test func `attachments of new identities in one batch forget no identity with a member`() {
        let privileged = attach(true)
        for group in 1...7 as ClosedRange<UInt32> { leave(attach(group: group)) }
        let clients = (11...13 as ClosedRange<UInt32>).map { host.connect(groups: [$0]) }
        for client in clients { client.subscribe(1, [">"], durable: "jobs", sharing: .group) }
        run()
        post()
        #expect(names(privileged).count { $0 == "secret.a" } == 4)
        let kept = owners(host) ?? []
        #expect([[Self.group], [11], [12], [13]].allSatisfy(kept.contains))
        #expect(host.store.subscription(named: "jobs")?.owners.map(\.groups) == kept)
    }

    @Test func `a ninth identity can't attach while eight have members, and others can`() {
        var clients = (1...8 as ClosedRange<UInt32>).map { attach(group: $0) }
        let ninth = attach(group: 9)
        #expect(ninth.takeErrors().map(\.code) == [ErrorCode.limitReached.rawValue])
        #expect(attach(group: 8).takeErrors().isEmpty)
        leave(clients.removeFirst())
        ninth.subscribe(1, [">"], durable: "jobs", sharing: .group)
        run()
        #expect(ninth.takeErrors().isEmpty)
        #expect(owners(host) == (2...9).map { [$0] })
    }

    @Test func `no identity remains after a failed attachment`() {
        let privileged = attach(true)
        leave(attach(false))
        let client = host.connect(groups: [1])
        client.subscribe(1, [">"], durable: "jobs", sharing: .group)
        host.tick()
        host.work(failingWith: .full)
        host.advance(.seconds(2))
        run()
        #expect(client.takeErrors().map(\.code) == [ErrorCode.logFull.rawValue])
        for client in [client, privileged] { leave(client) }
        #expect(host.core.broker.access.identityCount == 2)
    }

    @Test func `pending messages are those that an identity of the subscription may receive`() {
        leave(attach(false))
        let poster = host.connect(uid: 0)
        for name in ["secret.a", "secret.b", "open.a"] { poster.post(name, .stored) }
        host.run()
        func pending() -> [UInt64?] {
            host.advance(.seconds(3))
            _ = poster.take()
            poster.send(ListRequest(request: poster.nextRequest(), subject: .backlogs))
            host.run()
            return poster.take().compactMap {
                if case .durableEntry(let entry) = $0 { entry.pending?.messages } else { nil }
            }
        }
        #expect(pending() == [1])
        host.core.broker.policyChanged(to: Self.policy(1, gids: [1_000]))
        #expect(pending() == [3])
    }

    @Test func `a message that some identity may receive is stored, whichever member is attached`() {
        leave(attach(true))
        _ = attach(false)
        let poster = host.connect(uid: 0)
        poster.post("secret.a")
        host.run()
        let receipts = poster.take().compactMap { if case .receipt(let receipt) = $0 { receipt.stored } else { nil } }
        #expect(receipts == [1])
    }
}
