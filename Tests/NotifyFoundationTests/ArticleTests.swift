import Foundation
import NotifyCenter
import NotifyFoundation
import TestSupport
import Testing

// The code of the article, compiled. A test compares it with what the article shows.

// snippet
typealias NotificationCenter = CompatibleNotificationCenter
typealias NotificationQueue = CompatibleNotificationQueue

extension Notification.Name {
    static let userDidFollow = Notification.Name("UserDidFollow")
}

func greetFollowers() -> any NSObjectProtocol {
    NotificationCenter.default.addObserver(forName: .userDidFollow, object: nil, queue: nil) { notification in
        print("welcome", notification.userInfo?["name"] ?? "you")
    }
}

func follow(as name: String) {
    NotificationCenter.default.post(name: .userDidFollow, object: nil, userInfo: ["name": name])
}
// end

// snippet
final class Counter: Sendable {
    func noteFollower(_ notification: Notification) {}

    func start() {
        NotificationCenter.default.addObserver(
            self, calling: Counter.noteFollower, name: .userDidFollow, object: nil)
    }
}
// end

// snippet
func printFollowers() async {
    for await notification in NotificationCenter.default.notifications(named: .userDidFollow) {
        print(notification.userInfo?["name"] ?? "somebody")
    }
}
// end

// snippet
func followSoon() {
    let follow = Notification(name: .userDidFollow)
    NotificationQueue.default.enqueue(follow, postingStyle: .asap)
    NotificationQueue.default.enqueue(follow, postingStyle: .asap, coalesceMask: .onName, forModes: nil)
}
// end

// snippet
func observeBeneath() throws -> ObservationToken {
    try NotificationCenter.default.center.observe("UserDidFollow") { notification in
        let posted = notification.payload as? PostedNotification
        print(posted?.userInfo("name", as: String.self) ?? "somebody")
    }
}
// end

@Suite struct ArticleTests {
    @Test func `the article shows the code that is compiled here`() throws {
        let article = "Sources/NotifyFoundation/NotifyFoundation.docc/NotifyFoundation.md"
        let shown = try ArticleCode.shown(in: article)
        #expect(shown.count > 0)
        #expect(try shown == ArticleCode.compiled())
    }
}
