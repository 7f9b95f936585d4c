/// Decides which forbidden requests are logged: at most one per second for each user, and ten per second in total.
/// Counts the other forbidden requests of each user.
///
/// Tracks at most `maximumUsers` users. To make room, users with a full token bucket are removed with their counts. If
/// no bucket is full, the requests of further users are neither logged nor counted.
struct ForbiddenLog {
    private struct User {
        var bucket = TokenBucket()
        var omitted = 0
    }

    private static let perSecondAndUser = 1
    private static let perSecond = 10
    private static let maximumUsers = 1_024

    private var users: [UInt32: User] = [:]
    private var all = TokenBucket()

    /// Records a forbidden request of a user.
    ///
    /// - Returns: Nil if the request must not be logged. Otherwise the number of the user's forbidden requests that
    ///   were omitted since the last logged one.
    mutating func record(_ uid: UInt32, now: Duration) -> Int? {
        if users[uid] == nil, users.count >= Self.maximumUsers {
            users = users.filter { !$0.value.bucket.isFull(now: now) }
            guard users.count < Self.maximumUsers else { return nil }
        }
        var user = users[uid] ?? User()
        defer { users[uid] = user }
        // A token is taken from both buckets or from none.
        var (own, total) = (user.bucket, all)
        guard own.take(perSecond: Self.perSecondAndUser, now: now) == nil,
            total.take(perSecond: Self.perSecond, now: now) == nil
        else {
            user.omitted += 1
            return nil
        }
        (user.bucket, all) = (own, total)
        defer { user.omitted = 0 }
        return user.omitted
    }
}
