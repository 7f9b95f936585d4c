import Glibc

/// The clocks of the machine, as the log reads them.
package final class StoreClock: Sendable {
    /// The time since the machine booted, including suspension.
    package let sinceBoot: @Sendable () -> Duration
    /// The wall-clock time since 1970.
    package let wall: @Sendable () -> Duration
    /// Differs for each boot of the machine.
    package let bootID: String

    package init(
        sinceBoot: @escaping @Sendable () -> Duration, wall: @escaping @Sendable () -> Duration, bootID: String
    ) {
        self.sinceBoot = sinceBoot
        self.wall = wall
        self.bootID = bootID
    }

    package static let system = StoreClock(
        sinceBoot: { read(CLOCK_BOOTTIME) }, wall: { read(CLOCK_REALTIME) }, bootID: readBootID())

    private static func read(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Reads the id of the boot. Returns an empty id if the kernel provides none; then every start counts as another
    /// boot.
    private static func readBootID() -> String {
        guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return "" }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 64)
        guard fgets(&line, Int32(line.count), file) != nil else { return "" }
        return String(decoding: line.prefix { $0 > 32 }.map { UInt8($0) }, as: UTF8.self)
    }
}

extension StoreClock: Equatable {
    package static func == (left: StoreClock, right: StoreClock) -> Bool { left === right }
}

/// The log's own time, which determines the age of messages. Within a boot it follows the time since the boot, so that
/// setting the wall clock changes no age. After another boot it has advanced by as much as the wall clock since the
/// stored mark. It never goes back.
struct LogClock {
    /// A time of the log, with the machine's clocks at that time. The database contains the latest mark.
    struct Mark: Equatable {
        var time = Duration.zero
        var sinceBoot = Duration.zero
        var wall = Duration.zero
        var bootID = ""
    }

    private let clock: StoreClock
    /// The log's time minus the time since the boot.
    private let offset: Duration

    init(_ clock: StoreClock, continuing mark: Mark = Mark()) {
        self.clock = clock
        if mark.bootID == clock.bootID, !clock.bootID.isEmpty {
            offset = mark.time - mark.sinceBoot
        } else {
            offset = mark.time + max(.zero, clock.wall() - mark.wall) - clock.sinceBoot()
        }
    }

    var now: Duration { offset + clock.sinceBoot() }

    var mark: Mark {
        let sinceBoot = clock.sinceBoot()
        return Mark(time: offset + sinceBoot, sinceBoot: sinceBoot, wall: clock.wall(), bootID: clock.bootID)
    }
}

/// The times that a sound database can contain. A crafted file can have other times with correct checksums.
enum StoredTime {
    /// About 2,300 years. Differences and sums of such times have no overflow.
    private static let limit: Int64 = 1 << 56

    /// Whether a time in microseconds is possible in a row.
    static func isSound(_ microseconds: UInt64) -> Bool {
        (-limit...limit).contains(Int64(bitPattern: microseconds))
    }

    /// Whether a time in microseconds is possible for the log's clock. The limit is lower than that of rows, because
    /// the times of rows are derived from the clock and may be later.
    static func isSoundClock(_ microseconds: UInt64) -> Bool {
        (-limit / 2...limit / 2).contains(Int64(bitPattern: microseconds))
    }
}

extension Duration {
    /// Whole microseconds, as durations are stored in the database.
    var microseconds: Int64 { components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000 }
}
