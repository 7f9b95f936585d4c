/// How often an observation wants to be called, and by which clock.
final class RateLimit: Sendable {
    let rule: RateLimitState.Rule
    /// How long this has been there.
    let now: @Sendable () -> Duration
    /// Sleeps until this has been there for so long.
    let sleep: @Sendable (_ until: Duration) async throws -> Void

    init(_ rule: RateLimitState.Rule, clock: some Clock<Duration>) {
        self.rule = rule.bounded
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
    }
}

extension ObservationOptions {
    /// Waits until nothing has been posted for an interval, and then gets the last notification that was: of a burst, the end.
    ///
    /// ```swift
    /// let token = try center.observe("editor.changed", options: .debounced(for: .milliseconds(200))) { save($0) }
    /// ```
    ///
    /// The call comes from a task in the background, or takes its place among those that wait for an observer that runs
    /// elsewhere. Notifications of different names and objects that the observation asks for are one burst; the others, and
    /// those posted while it is paused, do not count. While posts keep coming sooner than the interval, nothing is delivered.
    ///
    /// What still waits when the observation ends, or its owner or center goes, is dropped. What waits when it is paused is
    /// not: it was posted before.
    ///
    /// - Parameters:
    ///   - interval: For how long nothing is to be posted. With zero or less, the call comes as soon as possible.
    ///   - clock: Measures the interval. Tests may hand in one that they set themselves.
    public static func debounced(
        for interval: Duration, clock: any Clock<Duration> = ContinuousClock()
    ) -> ObservationOptions {
        var options = ObservationOptions()
        options.rateLimit = RateLimit(.debounced(interval), clock: clock)
        return options
    }

    /// Gets the first notification at once, and then at most one in each interval, at its end.
    ///
    /// ```swift
    /// let token = try center.observe("progress", options: .throttled(for: .milliseconds(100))) { show($0) }
    /// ```
    ///
    /// The interval begins with a call. If nothing came in it, the next notification is again delivered at once, on the
    /// poster's thread; what is delivered at the end of an interval comes from a task in the background. Both take their
    /// place among those that wait for an observer that runs elsewhere. Notifications of different names and objects that the
    /// observation asks for share the interval; the others, and those posted while it is paused, do not count.
    ///
    /// What still waits when the observation ends, or its owner or center goes, is dropped. What waits when it is paused is
    /// not: it was posted before.
    ///
    /// - Parameters:
    ///   - interval: How much time is to be between two calls at least. With zero or less, everything is delivered at once.
    ///   - latest: Whether to get the last notification of an interval or the first. The others are dropped.
    ///   - clock: Measures the interval. Tests may hand in one that they set themselves.
    public static func throttled(
        for interval: Duration, latest: Bool = true, clock: any Clock<Duration> = ContinuousClock()
    ) -> ObservationOptions {
        var options = ObservationOptions()
        options.rateLimit = RateLimit(.throttled(interval, latest: latest), clock: clock)
        return options
    }
}
