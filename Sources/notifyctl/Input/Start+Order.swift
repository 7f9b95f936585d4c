import FoundationEssentials
import NotifyClient

extension NotificationClient.Start {
    /// Whether the position is after another one. A sequence and a time are not compared: only the daemon can do that.
    func isAfter(_ other: Self, now: Date) -> Bool {
        if other == .oldest { return self != .oldest }
        if case .sequence(let first) = self, case .sequence(let second) = other { return first > second }
        guard let first = date(now: now), let second = other.date(now: now) else { return false }
        return first > second
    }

    /// The time of the position; nil for a position that is no time.
    private func date(now: Date) -> Date? {
        switch self {
        case .now: now
        case .age(let age): now.addingTimeInterval(-(age / .seconds(1)))
        case .time(let time): time
        case .oldest, .sequence: nil
        }
    }
}
