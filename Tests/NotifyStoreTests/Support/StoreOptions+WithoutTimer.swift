import NotifyStore

extension StoreOptions {
    /// Options under which no pass of retention begins and no segment is closed because time has passed, so that a slow
    /// machine changes nothing.
    static var withoutTimer: StoreOptions {
        var options = StoreOptions()
        options.retentionInterval = .seconds(1_000_000)
        options.segmentAge = .seconds(1_000_000)
        return options
    }

    private static let stoppedClock = ManualClock().storeClock

    /// The options with a clock that stands still, also from one opening of a log to the next.
    var withStoppedClock: StoreOptions {
        var options = self
        options.clock = Self.stoppedClock
        return options
    }
}
