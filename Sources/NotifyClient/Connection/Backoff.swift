extension NotifyClient {
    /// How long the client waits before it tries to connect again: twice as long after each failure, up to a bound, and a
    /// random part of up to half less, so that many clients do not all come at once.
    public struct Backoff: Hashable, Sendable {
        /// The wait after a connection was lost, and after the first failure.
        public var initial: Duration
        /// The longest wait.
        public var maximum: Duration

        /// Waits between these bounds.
        public init(initial: Duration = .milliseconds(50), maximum: Duration = .seconds(2)) {
            self.initial = initial
            self.maximum = maximum
        }

        /// The wait after so many failures in a row. `jitter` is 0 for the least of it to 1 for all.
        func delay(failures: Int, jitter: Double) -> Duration {
            var delay = initial
            for _ in 0..<min(max(failures - 1, 0), 32) where delay < maximum { delay *= 2 }
            return min(delay, maximum) * (0.5 + 0.5 * min(max(jitter, 0), 1))
        }
    }
}
