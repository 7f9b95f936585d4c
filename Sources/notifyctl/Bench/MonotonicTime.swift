import Glibc

/// The monotonic clock as a plain number, for times within payloads.
enum MonotonicTime {
    /// Nanoseconds since a moment that is the same for all processes.
    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
