import NotifyCenter
import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

struct SubscriberTests {
    @Test(arguments: [
        Subscriber.connection(ConnectionSlot(0)), .connection(ConnectionSlot(.max)), .durable(DurableSlot(0)),
        .durable(DurableSlot(.max)),
    ])
    func `a registration's slot is read back as its subscriber`(_ subscriber: Subscriber) {
        let registration = Registration(id: 1, priority: subscriber.priority, slot: subscriber.registrationSlot)
        #expect(Subscriber(registration) == subscriber)
    }

    @Test func `volatile registrations come first in any order of subscribing`() throws {
        var subscriptions = Subscriptions()
        let filter = SubscriptionFilter(patterns: [NamePattern("a")])
        let durables = try (0..<3).map { try subscriptions.addDurable(filter, DurableSlot($0), uid: 1) }
        for slot in 0..<2 as Range<Int32> { try subscriptions.connect(filter, slot) }
        let resolution = subscriptions.resolve("a") { _ in true }
        #expect(resolution.volatileCount == 2 && resolution.count == 5)
        #expect(durables.allSatisfy { resolution.reaches(durable: $0) })
        #expect(!resolution.reaches(durable: (durables.max() ?? 0) + 1))
        let volatileCount = subscriptions.volatileCount
        #expect(volatileCount == 2)
    }

    @Test func `a message reaches a connection with overlapping subscriptions once`() throws {
        var subscriptions = Subscriptions()
        var registration: UInt64?
        let links = try ["a", "*", ">", "a"].map { pattern in
            try subscriptions.addVolatile(
                SubscriptionFilter(patterns: [NamePattern(pattern)]), to: ConnectionSlot(7),
                registration: &registration, uid: 1)
        }
        #expect(subscriptions.resolve("a") { _ in true }.registrations.map(\.slot) == [7])
        for link in links[..<3] { subscriptions.removeVolatile(link, uid: 1) }
        #expect(subscriptions.resolve("a") { _ in true }.count == 1)
        #expect(subscriptions.resolve("b") { _ in true }.isEmpty)
        subscriptions.removeVolatile(links[3], uid: 1)
        #expect(subscriptions.resolve("a") { _ in true }.isEmpty)
    }

    /// One of 1,024 filters whose patterns match the same name.
    private func overlappingFilter(_ number: Int) throws -> SubscriptionFilter {
        let tokens = (0..<10).map { number >> $0 & 1 == 0 ? "a" : "*" }
        return SubscriptionFilter(patterns: [try NamePattern(tokens.joined(separator: "."))])
    }

    @Test func `the refusal of an overlap is cheap however many patterns exist`() throws {
        var subscriptions = Subscriptions(maximumOverlap: 2_000)
        var registration: UInt64?
        for number in 0..<20_000 as Range<Int> {
            let filter = SubscriptionFilter(patterns: [try NamePattern("device.\(number).*")])
            _ = try subscriptions.addVolatile(filter, to: ConnectionSlot(1), registration: &registration, uid: 1)
        }
        var refused = 0
        let work = subscriptions.work
        for number in 0..<1024 as Range<Int> {
            do {
                _ = try subscriptions.addVolatile(
                    overlappingFilter(number), to: ConnectionSlot(1), registration: &registration, uid: 1)
            } catch let error as WireError {
                #expect(error.code == .limitReached)
                refused += 1
            }
        }
        #expect(refused > 800)
        // A refused subscription has 11 nodes, and their removal costs up to 176 units. Visiting all nodes would cost
        // 40,000 units.
        let needed = subscriptions.work - work
        #expect(needed < refused * 200)
    }

    @Test func `patterns of a user that match the same name are limited`() throws {
        var subscriptions = Subscriptions(maximumOverlap: 1_000)
        var registration: UInt64?
        var refused = 0
        for number in 0..<1024 as Range<Int> {
            do {
                _ = try subscriptions.addVolatile(
                    overlappingFilter(number), to: ConnectionSlot(1), registration: &registration, uid: 1)
            } catch let error as WireError {
                #expect(error.code == .limitReached)
                #expect(error.message.contains("limits.per_user.pattern_overlap is 1000"))
                refused += 1
            }
        }
        #expect(refused > 900)
        let work = subscriptions.work
        let reached = subscriptions.resolve("a.a.a.a.a.a.a.a.a.a") { _ in true }
        #expect(reached.count == 1)
        let needed = subscriptions.work - work
        #expect(needed <= 1_000)
        // Another user is not affected, and patterns that exclude each other are not limited.
        var other: UInt64?
        for number in 0..<2000 as Range<Int> {
            let filter = SubscriptionFilter(patterns: [try NamePattern("device.\(number).*.state")])
            _ = try subscriptions.addVolatile(filter, to: ConnectionSlot(2), registration: &other, uid: 2)
        }
        // A removal makes room.
        subscriptions.remove(try #require(registration), uid: 1)
        registration = nil
        _ = try subscriptions.addVolatile(
            SubscriptionFilter(patterns: [NamePattern("*.a")]), to: ConnectionSlot(1), registration: &registration,
            uid: 1)
    }

    @Test func `rights are evaluated once per registration until they change`() throws {
        var subscriptions = Subscriptions()
        let filter = SubscriptionFilter(patterns: [NamePattern("a")])
        for slot in 0..<4 as Range<Int32> { try subscriptions.connect(filter, slot) }
        var asked = 0
        let permitted = subscriptions.resolve("a") { registration in
            asked += 1
            return registration.slot.isMultiple(of: 2)
        }
        #expect(permitted.registrations.map(\.slot) == [0, 2])
        let cached = subscriptions.resolve("a") { _ in
            asked += 1
            return true
        }
        #expect(cached === permitted && asked == 4)
        subscriptions.rightsChanged()
        let isCurrent = subscriptions.isCurrent(permitted, of: 1)
        #expect(!isCurrent)
        let again = subscriptions.resolve("a") { _ in true }
        #expect(again.count == 4)
    }
}

extension Subscriptions {
    fileprivate mutating func connect(_ filter: SubscriptionFilter, _ slot: Int32) throws {
        var registration: UInt64?
        _ = try addVolatile(filter, to: ConnectionSlot(slot), registration: &registration, uid: 1)
    }

    fileprivate mutating func resolve(_ name: String, where isPermitted: (Registration) -> Bool) -> Resolution {
        Array(name.utf8).withUnsafeBytes { resolve(PostKey(name: $0, object: nil), where: isPermitted) }
    }
}
