// The code snippets of the article NotifyCenter.md. A test compares them with the article.

// snippet
import NotifyCenter

struct UserDidFollow: NotificationMessage {
    static let notificationName: NotificationName = "users.followed"
    let user: String
}

final class Feed: Sendable {
    func start(with center: LocalCenter) {
        center.observe(UserDidFollow.self, owner: self) { $0.show("\($1.user) follows you") }
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
extension NotificationName {
    static let userLeft: NotificationName = "users.left"
}

func postLeft(to center: LocalCenter) {
    center.post(.userLeft, payload: "ann")
}
// end

// snippet
func observeAll(_ center: LocalCenter) throws -> ObservationBag {
    let bag = ObservationBag()
    try center.observe("users.*") { print($0.name) }.store(in: bag)
    center.observe(UserDidFollow.self) { print($0.user) }.store(in: bag)
    return bag
}
// end

// snippet
func watch(_ feed: Feed, in center: LocalCenter) throws -> ObservationToken {
    try center.observe("feeds.emptied", object: NotificationObject(instance: feed)) { _ in print("empty") }
}

func empty(_ feed: Feed, in center: LocalCenter) throws {
    try center.post("feeds.emptied", object: NotificationObject(instance: feed))
}

func follow(_ feed: Feed, by user: String, in center: LocalCenter) {
    center.post(UserDidFollow(user: user), object: NotificationObject(instance: feed))
}
// end

// snippet
func observeWithOptions(_ feed: Feed, in center: LocalCenter) {
    let isGuest: ObservationOptions = .filter(UserDidFollow.self) { $0.user.hasPrefix("guest") }
    let observation = center.observe(
        UserDidFollow.self, owner: feed, options: [.key("banner"), .priority(1), isGuest]
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
@globalActor actor Storage {
    static let shared = Storage()
}

@Storage final class Ranking {
    private(set) var counts: [String: Int] = [:]

    func start(with center: LocalCenter) {
        center.observe(UserDidFollow.self, owner: self, on: Storage.shared) { @Storage ranking, message in
            ranking.counts[message.user, default: 0] += 1
        }
    }
}
// end

// snippet
@MainActor final class Screen {
    private(set) var title = ""

    func start(with center: LocalCenter) {
        center.observe(UserDidFollow.self, owner: self, on: MainActor.shared) { $0.title = $1.user }
    }

    func didFollow(_ message: UserDidFollow) { title = message.user }
}

func observe(for screen: Screen, in center: LocalCenter) {
    center.observe(UserDidFollow.self, owner: screen) { await $0.didFollow($1) }
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
func firstFollower(_ center: LocalCenter) async -> String? {
    let message = await center.nextMessage(of: UserDidFollow.self, timeout: .seconds(5)) {
        follow(by: "ann", in: center)
    }
    return message?.user
}
// end

// snippet
func markSoon(_ queue: PostQueue) {
    for user in ["ann", "bob", "ann"] {
        queue.enqueue(UserDidFollow(user: user))  // posts three
        queue.enqueueLatest(UserDidFollow(user: user))  // posts the last "ann"
        queue.enqueueLatest(UserDidFollow(user: user), per: \.user)  // posts an "ann" and a "bob"
    }
}
// end

// snippet
func observeLessOften(_ feed: Feed, in center: LocalCenter) {
    center.observe(UserDidFollow.self, owner: feed, options: .debounced(for: .milliseconds(200))) { feed, message in
        feed.show("the last for now: \(message.user)")
    }
    center.observe(UserDidFollow.self, owner: feed, options: .throttled(for: .seconds(1))) { feed, message in
        feed.show("one a second: \(message.user)")
    }
}
// end

// snippet
func signIn(_ user: String, in center: LocalCenter) -> [UserDidFollow] {
    center.setValue(UserDidFollow(user: user), last: 3)
    return center.values(of: UserDidFollow.self)
}
// end

// snippet
func changePosts(in center: LocalCenter) -> ObservationBag {
    let bag = ObservationBag()
    center.intercept(UserDidFollow.self) { message, next in
        if message.user != "spam" { next(UserDidFollow(user: message.user.lowercased())) }
    }.store(in: bag)
    center.intercept { notification, next in
        next(notification.payload is String ? notification.replacing(payload: "hidden") : notification)
    }.store(in: bag)
    return bag
}
// end
