import Glibc

/// A time zone, by its offset from UTC.
struct LocalTimeZone: Sendable {
    /// Returns the seconds by which local time is ahead of UTC, at a time in seconds since 1970.
    let offset: @Sendable (_ seconds: Int) -> Int

    /// The time zone of this process: `TZ`, or the system's.
    static let system = LocalTimeZone { seconds in
        var time = time_t(seconds)
        var parts = tm()
        return localtime_r(&time, &parts) == nil ? 0 : parts.tm_gmtoff
    }

    /// The times at which clocks show a local time, in seconds since 1970.
    enum Moments: Equatable {
        case one(Int)
        /// The clock is set forward past the local time, at this time.
        case none(change: Int)
        /// The clock is set back, and shows the local time at both times.
        case two(Int, Int)
    }

    /// Converts a local time, in seconds since 1970-01-01T00:00:00.
    func moments(ofLocal local: Int) -> Moments {
        // An offset is less than a day. So the outer offsets are in force before and after all changes near the local
        // time. Between two changes, another offset may be in force. It is found at a time that an outer offset gives.
        let outer = [offset(local - 86_400), offset(local + 86_400)]
        let offsets = Set(outer + outer.map { offset(local - $0) })
        let found = offsets.map { local - $0 }.filter { $0 + offset($0) == local }.sorted()
        guard let first = found.first, let last = found.last else { return .none(change: change(near: local)) }
        return first == last ? .one(first) : .two(first, last)
    }

    /// The time at which a local day begins.
    func start(ofDay day: Int) -> Int {
        switch moments(ofLocal: day * 86_400) {
        case .one(let moment), .two(let moment, _), .none(let moment): moment
        }
    }

    /// The time of the change of the offset that skips a local time.
    private func change(near local: Int) -> Int {
        var low = local - 86_400
        let before = offset(low)
        // Searches in steps of 15 minutes, because another change may follow within hours.
        var high = low
        while high < local + 86_400, offset(high) == before { (low, high) = (high, high + 900) }
        while low + 1 < high {
            let middle = low + (high - low) / 2
            if offset(middle) == before { low = middle } else { high = middle }
        }
        return high
    }

    /// Converts a time to local time. Both are in seconds since 1970-01-01T00:00:00.
    func localSeconds(of seconds: Int) -> Int { seconds + offset(seconds) }
}
