import Foundation
import NotifyBroadcast
import TestSupport
import Testing

// The code of the article, compiled. A test compares it with what the article shows.

// snippet
@Broadcast
protocol FollowEvents: AnyObject, Sendable {
    func userDidFollow(_ user: String)
    @Optional func userDidLeave(_ user: String)
    @Combine(.collect) func badges(of user: String) -> [String]
}

final class Feed: FollowEvents {
    func userDidFollow(_ user: String) { print("\(user) follows") }
    func badges(of user: String) -> [String] { ["new"] }
}

func follow(with feed: Feed) -> [String] {
    let events = FollowEventsBroadcaster.shared()
    events.register(feed)
    events.userDidFollow("ann")
    return events.badges(of: "ann")
}
// end

// snippet
func choose(_ feed: Feed, in events: FollowEventsBroadcaster) {
    events.register(feed, for: [.userDidFollow])
    events.unregister(feed)
}
// end

// snippet
@Broadcast(codable)
protocol DeliveryEvents: AnyObject, Sendable {
    func parcelSent(_ number: Int, to city: String)
    @Topic("parcels.lost") func parcelLost(_ number: Int)
}

func travel(to events: DeliveryEventsBroadcaster) throws {
    let data = try JSONEncoder().encode(DeliveryEventsCall.parcelSent(42, to: "Delft"))
    events.dispatch(try JSONDecoder().decode(DeliveryEventsCall.self, from: data))
}
// end

// snippet
func delegate(to feed: Feed) {
    let delegates = MulticastDelegate<any FollowEvents>()
    delegates += feed
    delegates.invoke { $0.userDidFollow("bob") }
    delegates -= feed
}
// end

@Suite struct ArticleTests {
    @Test func `the article shows the code that is compiled here`() throws {
        let shown = try ArticleCode.shown(in: "Sources/NotifyBroadcast/NotifyBroadcast.docc/NotifyBroadcast.md")
        #expect(shown.count > 0)
        #expect(try shown == ArticleCode.compiled())
    }

    @Test func `what the article says happens`() throws {
        final class Office: DeliveryEvents {
            let journal = Journal()
            func parcelSent(_ number: Int, to city: String) { journal.note("\(number) \(city)") }
            func parcelLost(_ number: Int) {}
        }
        let orders = DeliveryEventsBroadcaster()
        let office = Office()
        orders.register(office)
        try travel(to: orders)
        #expect(follow(with: Feed()) == ["new"])
        #expect(office.journal.entries == ["42 Delft"])
    }
}
