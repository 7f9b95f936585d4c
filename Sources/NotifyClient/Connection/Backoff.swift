extension NotificationClient {
    /// The wait before the client connects again: exponential backoff with a maximum. Each wait is shortened at random
    /// by up to half (jitter), so that many clients do not reconnect at the same time.
    public struct Backoff: Hashable, Sendable {
        /// The wait after a connection was lost, and after the first failure.
        public var initial: Duration
        /// The longest wait.
        public var maximum: Duration

        /// Makes a backoff; by default from 50 milliseconds to 2 seconds.
        public init(initial: Duration = .milliseconds(50), maximum: Duration = .seconds(2)) {
            self.initial = initial
            self.maximum = maximum
        }

        /// The wait after a number of consecutive failures.
        ///
        /// - Parameter jitter: A number from 0 (half of the wait) to 1 (the whole wait).
        func delay(failures: Int, jitter: Double) -> Duration {
            var delay = initial
            for _ in 0..<min(max(failures - 1, 0), 32) where delay < maximum { delay *= 2 }
            return min(delay, maximum) * (0.5 + 0.5 * min(max(jitter, 0), 1))
        }
    }
}
