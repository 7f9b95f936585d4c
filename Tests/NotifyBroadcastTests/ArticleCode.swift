// The code of the article, compiled with the article's imports. A test compares this code with the article.

// snippet
import Foundation
import NotifyBroadcast

@Broadcast
protocol FollowEvents: AnyObject, Sendable {
    func userDidFollow(_ user: String)
    @Optional func userDidLeave(_ user: String)
    @Combined(.collect) func badges(of user: String) -> [String]
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
@Broadcast
protocol DocumentEvents: AnyObject, Sendable {
    @Combined(.collect) func titles() -> [String]
    @Combined(.first) func color(of item: Int) -> String?
    @Combined(.first(or: 44)) func height() -> Int
    @Combined(.reduce(true) { $0 && $1 }) func mayClose() -> Bool
}
// end

// snippet
@Broadcast(codable)
protocol DeliveryEvents: AnyObject, Sendable {
    func parcelSent(_ number: Int, to city: String)
    @Topic("parcels.lost") func parcelLost(_ number: Int)
}

func encodeAndDispatch(to events: DeliveryEventsBroadcaster) throws {
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
