// The code of the article NotifyFoundation.md, compiled with the imports that the article shows. A test compares this
// file with the article.

// snippet
import Foundation
import NotifyFoundation

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
        NotificationCenter.default.addObserver(self, name: .userDidFollow, object: nil) { $0.noteFollower($1) }
    }
}
// end

// snippet
func printFollowers() async {
    for await notification in NotificationCenter.default.notifications(named: .userDidFollow) {
        print(notification.userInfo?["name"] ?? "unknown")
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
final class Account: Sendable {}

struct AccountDidClose: NotificationCenter.MainActorMessage {
    typealias Subject = Account
    let balance: Int
}

extension NotificationCenter.MessageIdentifier
where Self == NotificationCenter.BaseMessageIdentifier<AccountDidClose> {
    static var didClose: Self { .init() }
}

@MainActor func close(_ account: Account) {
    let token = NotificationCenter.default.addObserver(of: account, for: .didClose) { message in
        print("closed with", message.balance)
    }
    NotificationCenter.default.post(AccountDidClose(balance: 0), subject: account)
    NotificationCenter.default.removeObserver(token)
}
// end

// snippet
struct UserDidFollow: NotificationCenter.AsyncMessage {
    typealias Subject = Account
    static var name: Notification.Name { .userDidFollow }
    let follower: String

    static func makeMessage(_ notification: Notification) -> Self? {
        (notification.userInfo?["name"] as? String).map { Self(follower: $0) }
    }

    static func makeNotification(_ message: Self) -> Notification {
        Notification(name: name, userInfo: ["name": message.follower])
    }
}

func printFollowersByName() async {
    for await message in NotificationCenter.default.messages(for: UserDidFollow.self) {
        print(message.follower)
    }
}
// end

// snippet
import NotifyCenter

func observeUnderlyingCenter() throws -> ObservationToken {
    try NotificationCenter.default.center.observe("UserDidFollow") { notification in
        let posted = notification.payload as? PostedNotification
        print(posted?.userInfo("name", as: String.self) ?? "unknown")
    }
}
// end
