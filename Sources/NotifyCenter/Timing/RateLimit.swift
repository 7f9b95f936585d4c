/// The rate limit of an observation, with its clock.
final class RateLimit: Sendable {
    let rule: RateLimitState.Rule
    /// The time since this value was created.
    let now: @Sendable () -> Duration
    /// Sleeps until a time, measured as `now` is.
    let sleep: @Sendable (_ until: Duration) async throws -> Void

    init(_ rule: RateLimitState.Rule, clock: some Clock<Duration>) {
        self.rule = rule.bounded
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
    }
}

extension ObservationOptions {
    /// Delivers the last notification of a burst, once nothing was posted for an interval.
    ///
    /// ```swift
    /// let token = try center.observe("editor.changed", options: .debounced(for: .milliseconds(200))) { save($0) }
    /// ```
    ///
    /// The observer is called in a background task, or through its buffer if it has one. All notifications that match
    /// the observation, whatever their names and objects, form one burst; those posted while it is paused do not count.
    /// While the pauses between posts are shorter than the interval, nothing is delivered.
    ///
    /// A pending notification is dropped when the observation ends, or its owner or center is released. It is delivered
    /// if the observation is paused after the post.
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

    /// Delivers the first notification at once, and then at most one per interval, at its end.
    ///
    /// ```swift
    /// let token = try center.observe("progress", options: .throttled(for: .milliseconds(100))) { show($0) }
    /// ```
    ///
    /// An interval begins with a call. If nothing was posted in it, the next notification is again delivered at once,
    /// on the poster's thread. At the end of an interval the observer is called in a background task. Both go through
    /// the observer's buffer if it has one. All notifications that match the observation, whatever their names and
    /// objects, share the interval; those posted while it is paused do not count.
    ///
    /// A pending notification is dropped when the observation ends, or its owner or center is released. It is delivered
    /// if the observation is paused after the post.
    ///
    /// - Parameters:
    ///   - interval: The minimum time between two calls. With zero or less, every notification is delivered at once.
    ///   - latest: Whether the last notification of an interval is delivered, or the first. The others are dropped.
    ///   - clock: Measures the interval. Tests may pass a manual clock.
    public static func throttled(
        for interval: Duration, latest: Bool = true, clock: any Clock<Duration> = ContinuousClock()
    ) -> ObservationOptions {
        var options = ObservationOptions()
        options.rateLimit = RateLimit(.throttled(interval, latest: latest), clock: clock)
        return options
    }
}
