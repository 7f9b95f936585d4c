/// Computes the wait before the client connects again: exponential backoff with a maximum. Each wait is shortened at
/// random by up to half (jitter), so that many clients do not reconnect at the same time.
struct Backoff: Sendable {
    /// The first wait, after a lost connection or the first failure, and the longest wait.
    var waits: ClosedRange<Duration>

    /// The wait after a number of consecutive failures.
    ///
    /// - Parameter jitter: A number from 0 (half of the wait) to 1 (the whole wait).
    func delay(failures: Int, jitter: Double) -> Duration {
        var delay = waits.lowerBound
        for _ in 0..<min(max(failures - 1, 0), 32) where delay < waits.upperBound { delay *= 2 }
        return min(delay, waits.upperBound) * (0.5 + 0.5 * min(max(jitter, 0), 1))
    }
}
