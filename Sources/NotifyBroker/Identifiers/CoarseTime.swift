/// A time of delivery in units of 10 ms, rounded up. Wraps after 497 days.
struct CoarseTime: Equatable {
    private static let nanoseconds: Int64 = 10_000_000
    private let ticks: UInt32

    init(_ time: Duration) {
        ticks = UInt32(truncatingIfNeeded: Self.ticks(time))
    }

    /// The time, which is at most 497 days before `now`.
    func time(before now: Duration) -> Duration {
        let end = Self.ticks(now)
        let elapsed = UInt32(truncatingIfNeeded: end) &- ticks
        return .nanoseconds((end - Int64(elapsed)) * Self.nanoseconds)
    }

    private static func ticks(_ time: Duration) -> Int64 {
        let (seconds, attoseconds) = time.components
        return seconds * 100 + (attoseconds / 1_000_000_000 + nanoseconds - 1) / nanoseconds
    }
}
