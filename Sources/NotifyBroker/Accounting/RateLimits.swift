import NotifyLog

/// The maximum numbers of posts and of new connections per second and user.
package struct RateLimits: Sendable, Equatable {
    /// Limits for some users that replace the general limits.
    package struct Exception: Sendable, Equatable {
        package enum Limit: Sendable, Equatable {
            case unlimited
            case perSecond(Int)

            var perSecond: Int? {
                switch self {
                case .unlimited: nil
                case .perSecond(let count): count
                }
            }
        }

        /// The exception applies to peers with one of these `uids` or `gids`.
        package var uids: Set<UInt32>
        package var gids: Set<UInt32>
        /// The limit of posts; nil if the exception does not replace this limit.
        package var posts: Limit?
        package var connects: Limit?

        package init(uids: Set<UInt32>, gids: Set<UInt32>, posts: Limit?, connects: Limit?) {
            self.uids = uids
            self.gids = gids
            self.posts = posts
            self.connects = connects
        }

        fileprivate func applies(to identity: borrowing Identity) -> Bool {
            uids.contains(identity.uid) || gids.contains(identity.gid) || identity.groups.contains(where: gids.contains)
        }
    }

    /// The general limit of posts; nil for no limit.
    package var postsPerSecond: Int?
    package var connectsPerSecond: Int?
    /// If several exceptions apply to a peer and replace the same limit, the last one takes effect.
    package var exceptions: [Exception] = []

    package init() {}

    func postsPerSecond(for identity: borrowing Identity) -> Int? {
        for exception in exceptions.reversed() where exception.applies(to: identity) {
            if let limit = exception.posts { return limit.perSecond }
        }
        return postsPerSecond
    }

    func connectsPerSecond(for identity: borrowing Identity) -> Int? {
        for exception in exceptions.reversed() where exception.applies(to: identity) {
            if let limit = exception.connects { return limit.perSecond }
        }
        return connectsPerSecond
    }

    /// Whether any user's posts are limited.
    var limitsPosts: Bool {
        postsPerSecond != nil || exceptions.contains { $0.posts?.perSecond != nil }
    }
}
