@_spi(Package) import NotifyCenter
import NotifyStore

/// The clocks of a machine, which advance only when the test advances them.
final class ManualClock: Sendable {
    private struct Times {
        var sinceBoot = Duration.seconds(1000)
        var wall = Duration.seconds(1_700_000_000)
        var boot = 1
    }

    private let times = Lock(Times())

    func advance(by time: Duration) {
        times.withLock {
            $0.sinceBoot += time
            $0.wall += time
        }
    }

    /// Moves the wall clock ahead, or back if `time` is negative.
    func setWall(aheadBy time: Duration) {
        times.withLock { $0.wall += time }
    }

    /// Reboots the machine.
    func reboot(taking time: Duration) {
        times.withLock {
            $0.sinceBoot = .seconds(5)
            $0.wall += time
            $0.boot += 1
        }
    }

    /// The clocks for a store that is opened now.
    var storeClock: StoreClock {
        StoreClock(
            sinceBoot: { self.times.withLock(\.sinceBoot) }, wall: { self.times.withLock(\.wall) },
            bootID: "boot \(times.withLock(\.boot))")
    }
}
