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
}
