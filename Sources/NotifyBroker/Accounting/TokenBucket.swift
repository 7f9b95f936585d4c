/// A token bucket that holds at most the tokens of one second. Stored as the time at which the bucket is full again
/// (the generic cell rate algorithm of ITU-T I.371).
struct TokenBucket {
    private static let capacity = Duration.seconds(1)

    private var fullAt: Duration = .zero

    /// The time between two tokens.
    private static func interval(_ rate: Int) -> Duration { capacity / rate }

    /// Takes a token.
    ///
    /// - Returns: Nil if a token was taken; otherwise the time at which the next token is available.
    mutating func take(perSecond rate: Int, now: Duration) -> Duration? {
        let start = max(fullAt, now)
        let time = start + Self.interval(rate) - Self.capacity
        if time > now { return time }
        fullAt = start + Self.interval(rate)
        return nil
    }

    /// The number of tokens that can be taken now.
    func available(perSecond rate: Int, now: Duration) -> Int {
        fullAt <= now ? rate : max(0, Int((now + Self.capacity - fullAt) / Self.interval(rate)))
    }

    func isFull(now: Duration) -> Bool { fullAt <= now }
}
