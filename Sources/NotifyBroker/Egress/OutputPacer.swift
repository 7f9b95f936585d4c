import DequeModule

/// Slows down posts while connections wait to be flushed, so that posts do not outrun the output to their subscribers.
///
/// A user's next post waits until as much output was flushed as its earlier posts caused, or until no connection waits.
/// The posts of other users are not affected.
struct OutputPacer {
    private struct User {
        /// The total flush work at which the user's next post may be processed.
        var end = 0
        var waiting: Deque<ConnectionID> = []
    }

    /// The maximum number of a user's connections that continue in one turn. Each of them may post.
    private static let connectionsPerTurn = 64

    private var users: [UInt32: User] = [:]

    /// Records the flush work that a post has caused.
    mutating func posted(by uid: UInt32, units: Int, flushed: Int) {
        users[uid, default: User()].end = max(users[uid]?.end ?? 0, flushed) + units
    }

    /// Whether posts of the user must wait. Does not depend on whether other connections of the user wait: those that
    /// `takeReady` returns may post at once, although the others still wait.
    func mustWait(_ uid: UInt32, flushed: Int) -> Bool {
        guard let user = users[uid] else { return false }
        return user.end > flushed
    }

    /// Adds a connection that waits until `takeReady` returns it.
    mutating func wait(_ id: ConnectionID, of uid: UInt32) { users[uid, default: User()].waiting.append(id) }

    /// Takes the connections that need not wait any more. Some may have been closed.
    ///
    /// - Parameter isBehind: Whether connections wait to be flushed.
    mutating func takeReady(flushed: Int, isBehind: Bool) -> [ConnectionID] {
        guard !users.isEmpty else { return [] }
        var ready: [ConnectionID] = []
        for (uid, user) in users where user.end <= flushed || !isBehind {
            let first = user.waiting.prefix(Self.connectionsPerTurn)
            ready += first
            users[uid]?.waiting.removeFirst(first.count)
            if first.count == user.waiting.count { users[uid] = nil }
        }
        return ready
    }

    /// False if the posts of some user may have to wait.
    var isEmpty: Bool { users.isEmpty }
}
