import NotifyStore

extension StoreOptions {
    /// Options under which time alone begins no pass of retention and closes no segment, so that a slow machine changes
    /// no result.
    static var withoutTimer: StoreOptions {
        var options = StoreOptions()
        options.retentionInterval = .seconds(1_000_000)
        options.segmentAge = .seconds(1_000_000)
        return options
    }

    private static let stoppedClock = ManualClock().storeClock

    /// The options with a clock that stands still, even between two openings of the log.
    var withStoppedClock: StoreOptions {
        var options = self
        options.clock = Self.stoppedClock
        return options
    }
}
