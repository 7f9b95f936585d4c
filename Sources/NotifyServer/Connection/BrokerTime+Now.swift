import Glibc
import NotifyBroker

extension BrokerTime {
    /// Reads the current time: the monotonic clock for deadlines, and the real-time clock for stamps.
    static func now() -> BrokerTime {
        let monotonic = read(CLOCK_MONOTONIC)
        let wall = read(CLOCK_REALTIME)
        return BrokerTime(
            monotonic: .seconds(monotonic.tv_sec) + .nanoseconds(monotonic.tv_nsec),
            wallMicroseconds: UInt64(wall.tv_sec) * 1_000_000 + UInt64(wall.tv_nsec) / 1_000)
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }
}
