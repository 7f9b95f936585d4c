/// The rate limit of an observation, with its clock.
final class RateLimit: Sendable {
    let rule: RateLimitState.Rule
    /// The time since this value was created.
    let now: @Sendable () -> Duration
    /// Sleeps until a time, measured like `now`.
    let sleep: @Sendable (_ until: Duration) async throws -> Void

    init(_ rule: RateLimitState.Rule, clock: some Clock<Duration>) {
        self.rule = rule.bounded
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
    }
}

extension ObservationOptions {
    /// Delivers the last notification of a burst, once nothing has been posted for an interval.
    ///
    /// ```swift
    /// let token = try center.observe("editor.changed", options: .debounced(for: .milliseconds(200))) { save($0) }
    /// ```
    ///
    /// A background task calls the observer. If the observer has a buffer, the task adds the notification to the buffer
    /// instead. All notifications that match the observation form one burst, whatever their names and objects.
    /// Notifications that are posted while the observation is paused do not count. Nothing is delivered while the time
    /// between posts is shorter than the interval.
    ///
    /// A pending notification is dropped if the observation ends, or if its owner or center is released. If the
    /// observation is paused, the pending notification is still delivered, because it was posted before the pause.
    ///
    /// - Parameters:
    ///   - interval: The time without posts. With zero or less, the observer is called as soon as possible.
    ///   - clock: Measures the interval. Tests may pass a manual clock.
    public static func debounced(
        for interval: Duration, clock: any Clock<Duration> = ContinuousClock()
    ) -> ObservationOptions {
        var options = ObservationOptions()
        options.rateLimit = RateLimit(.debounced(interval), clock: clock)
        return options
    }

    /// Delivers the first notification at once, and after that at most one per interval, at the end of the interval.
    ///
    /// ```swift
    /// let token = try center.observe("progress", options: .throttled(for: .milliseconds(100))) { show($0) }
    /// ```
    ///
    /// An interval begins with each call. If nothing is posted during the interval, the next notification is again
    /// delivered immediately, on the poster's thread. Calls at the end of an interval are made by a background task. If
    /// the observer has a buffer, notifications are added to the buffer instead. All notifications that match the
    /// observation share the interval, whatever their names and objects. Notifications that are posted while the
    /// observation is paused do not count.
    ///
    /// A pending notification is dropped if the observation ends, or if its owner or center is released. If the
    /// observation is paused, the pending notification is still delivered, because it was posted before the pause.
    ///
    /// - Parameters:
    ///   - interval: The minimum time between two calls. With zero or less, every notification is delivered at once.
    ///   - latest: Whether to deliver the last notification of an interval; if false, the first. The others are
    ///     dropped.
    ///   - clock: Measures the interval. Tests may pass a manual clock.
    public static func throttled(
        for interval: Duration, latest: Bool = true, clock: any Clock<Duration> = ContinuousClock()
    ) -> ObservationOptions {
        var options = ObservationOptions()
        options.rateLimit = RateLimit(.throttled(interval, latest: latest), clock: clock)
        return options
    }
}
