/// The current time, read by the host. The broker reads no clock.
package struct BrokerTime: Equatable, Sendable {
    /// The time since an arbitrary point. Never decreases.
    package var monotonic: Duration
    /// Microseconds since 1970-01-01T00:00:00Z, for the timestamps of messages.
    package var wallMicroseconds: UInt64

    package init(monotonic: Duration, wallMicroseconds: UInt64) {
        self.monotonic = monotonic
        self.wallMicroseconds = wallMicroseconds
    }
}

extension Duration? {
    /// The earlier of two times. Nil counts as later than any time.
    static func earlier(_ left: Duration?, _ right: Duration?) -> Duration? {
        guard let left else { return right }
        guard let right else { return left }
        return min(left, right)
    }
}
