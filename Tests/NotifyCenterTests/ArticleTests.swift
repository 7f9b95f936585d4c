import NotifyCenter
import TestSupport
import Testing

// The code of the article, compiled. A test compares it with what the article shows.

// snippet
struct UserDidFollow: NotificationMessage {
    static let notificationName = NotificationName(literal: "users.followed")
    let user: String
}

final class Feed: Sendable {
    func start(with center: LocalCenter) {
        center.observe(UserDidFollow.self, owner: self) { feed, message in
            feed.show("\(message.user) follows you")
        }
    }

    func show(_ line: String) { print(line) }
}

func follow(by user: String, in center: LocalCenter = .default) {
    center.post(UserDidFollow(user: user))
}
// end

// snippet
func log(_ center: LocalCenter) throws -> ObservationToken {
    try center.observe("users.*") { notification in
        print(notification.name, notification.payload ?? "nothing")
    }
}

func postByName(to center: LocalCenter) throws {
    try center.post("users.left", payload: "ann")
}
// end

// snippet
func watch(_ feed: Feed, in center: LocalCenter) -> ObservationToken {
    center.observe(NotificationName(literal: "feeds.emptied"), object: NotificationObject(instance: feed)) { _ in
        print("empty")
    }
}

func empty(_ feed: Feed, in center: LocalCenter) {
    center.post(NotificationName(literal: "feeds.emptied"), object: NotificationObject(instance: feed))
}
// end

// snippet
func observeWithOptions(_ feed: Feed, in center: LocalCenter) {
    let observation = center.observe(
        UserDidFollow.self, owner: feed, options: [.key("banner"), .priority(1)]
    ) { feed, message in
        feed.show("welcome, \(message.user)")
    }
    observation.pause()
    observation.resume()
    center.removeObservations(of: feed)
}
// end

// snippet
actor Archive {
    private(set) var users: [String] = []

    func start(with center: LocalCenter) {
        center.observe(UserDidFollow.self, on: self, buffering: .dropNewest(limit: 100)) { archive, message in
            archive.users.append(message.user)
        }
    }
}
// end

// snippet
func printFollowers(_ center: LocalCenter) async {
    let followers = center.messages(of: UserDidFollow.self, buffering: .wait(limit: 10))
    for await follower in followers {
        print(follower.user, "dropped so far:", followers.droppedCount)
    }
}

func followWhenThereIsRoom(by user: String, in center: LocalCenter) async {
    await center.postWaiting(UserDidFollow(user: user))
}
// end

// snippet
func markSoon(_ queue: PostQueue) {
    for user in ["ann", "ann", "ann"] {
        queue.enqueue(UserDidFollow(user: user))
    }
}
// end

// snippet
func observeAtAPace(_ feed: Feed, in center: LocalCenter) {
    center.observe(UserDidFollow.self, owner: feed, options: .debounced(for: .milliseconds(200))) { feed, message in
        feed.show("the last for now: \(message.user)")
    }
    center.observe(UserDidFollow.self, owner: feed, options: .throttled(for: .seconds(1))) { feed, message in
        feed.show("one a second: \(message.user)")
    }
}
// end

// snippet
func signIn(_ user: String, in center: LocalCenter) -> UserDidFollow? {
    center.postRetained(UserDidFollow(user: user))
    return center.retainedMessage(UserDidFollow.self)
}
// end

// snippet
func keepOut(_ user: String, of center: LocalCenter) -> InterceptionToken {
    center.intercept { notification, next in
        if (notification.payload as? UserDidFollow)?.user != user { next(notification) }
    }
}
// end

@Suite struct ArticleTests {
    @Test func `the article shows the code that is compiled here`() throws {
        let shown = try ArticleCode.shown(in: "Sources/NotifyCenter/NotifyCenter.docc/NotifyCenter.md")
        #expect(shown.count > 0)
        #expect(try shown == ArticleCode.compiled())
    }
}
