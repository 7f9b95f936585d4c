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

    /// Converts a local time to UTC. Both are in seconds since 1970-01-01T00:00:00.
    ///
    /// When the clock is set back, local times repeat; the first occurrence counts. When it is set forward, local times
    /// are skipped; such a time counts as if the clock had not been set yet.
    func seconds(ofLocal local: Int) -> Int {
        // No offset reaches a day, so these are the offsets before and after a change near the local time.
        let (before, after) = (offset(local - 86_400), offset(local + 86_400))
        let candidates = [local - max(before, after), local - min(before, after)]
        return candidates.first { $0 + offset($0) == local } ?? local - before
    }

    /// Converts a time to local time. Both are in seconds since 1970-01-01T00:00:00.
    func localSeconds(of seconds: Int) -> Int { seconds + offset(seconds) }
}
