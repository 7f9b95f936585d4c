import NotifyCenter

struct UserDidFollow: NotificationMessage {
    static let notificationName = NotificationName(literal: "users.followed")
    let user: String
}

final class Feed: Sendable {
    init(center: LocalCenter = .default) {
        // Held weakly: nothing to remove, and no capture to think of.
        center.observe(UserDidFollow.self, owner: self, calling: Feed.show)
    }

    func show(_ follow: UserDidFollow) {
        print("\(follow.user) follows you")
    }
}

func follow(by user: String) {
    LocalCenter.default.post(UserDidFollow(user: user))
}
