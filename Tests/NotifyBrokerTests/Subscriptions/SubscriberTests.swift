import NotifyCenter
import NotifyLog
import Testing

@testable import NotifyBroker

struct SubscriberTests {
    @Test(arguments: [
        Subscriber.connection(ConnectionSlot(0)), .connection(ConnectionSlot(.max)), .durable(DurableSlot(0)),
        .durable(DurableSlot(.max)),
    ])
    func aRegistrationsSlotIsReadBackAsItsSubscriber(_ subscriber: Subscriber) {
        let registration = Registration(id: 1, priority: subscriber.priority, slot: subscriber.registrationSlot)
        #expect(Subscriber(registration) == subscriber)
    }

    @Test func volatileRegistrationsComeFirstWhateverTheOrderOfSubscribing() throws {
        var subscriptions = Subscriptions()
        let filter = SubscriptionFilter(patterns: [try NamePattern("a")])
        let durables = (0..<3).map { subscriptions.add(filter, .durable(DurableSlot($0))) }
        for slot in 0..<2 as Range<Int32> { _ = subscriptions.add(filter, .connection(ConnectionSlot(slot))) }
        let resolution = subscriptions.resolve("a") { _ in true }
        #expect(resolution.volatileCount == 2 && resolution.count == 5)
        #expect(durables.allSatisfy { resolution.reaches(durable: $0) })
        #expect(!resolution.reaches(durable: (durables.max() ?? 0) + 1))
        let volatileCount = subscriptions.volatileCount
        #expect(volatileCount == 2)
    }

    @Test func rightsAreAskedOnceForEachRegistrationUntilTheyChange() throws {
        var subscriptions = Subscriptions()
        let filter = SubscriptionFilter(patterns: [try NamePattern("a")])
        for slot in 0..<4 as Range<Int32> { _ = subscriptions.add(filter, .connection(ConnectionSlot(slot))) }
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
        let isCurrent = subscriptions.isCurrent(permitted)
        #expect(!isCurrent)
        let again = subscriptions.resolve("a") { _ in true }
        #expect(again.count == 4)
    }
}

extension Subscriptions {
    fileprivate mutating func resolve(_ name: String, where isPermitted: (Registration) -> Bool) -> Resolution {
        Array(name.utf8).withUnsafeBytes { resolve(PostKey(name: $0, object: nil), where: isPermitted) }
    }
}
