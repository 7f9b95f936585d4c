/// A token bucket that holds one second's worth of tokens, stored as the time at which it is full again (the generic
/// cell rate algorithm of ITU-T I.371).
struct TokenBucket {
    private static let capacity = Duration.seconds(1)

    private var fullAt: Duration = .zero

    /// The time between two tokens.
    private static func interval(_ rate: Int) -> Duration { capacity / rate }

    /// Takes a token.
    ///
    /// - Returns: The time at which the next token is available, if there is none now. Nothing is taken then.
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
