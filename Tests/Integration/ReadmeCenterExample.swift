import NotifyCenter

struct UserDidFollow: NotificationMessage {
    static let notificationName: NotificationName = "users.followed"
    let user: String
}

final class Feed: Sendable {
    init(center: LocalCenter = .default) {
        // Held weakly, and passed to the closure: nothing to remove, nothing captured.
        center.observe(UserDidFollow.self, owner: self) { $0.show($1) }
    }

    func show(_ follow: UserDidFollow) {
        print("\(follow.user) follows you")
    }
}

func follow(by user: String) {
    LocalCenter.default.post(UserDidFollow(user: user))
}
