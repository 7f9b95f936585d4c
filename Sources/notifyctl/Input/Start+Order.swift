import FoundationEssentials
import NotifyClient

extension NotificationClient.Start {
    /// Whether the position is after another one. False for a sequence and a time: only the daemon can compare them.
    func isAfter(_ other: Self, now: Date) -> Bool {
        if other == .oldest { return self != .oldest }
        if case .sequence(let first) = self, case .sequence(let second) = other { return first > second }
        guard let first = date(now: now), let second = other.date(now: now) else { return false }
        return first > second
    }

    /// The time of the position; nil for a position that has no time.
    private func date(now: Date) -> Date? {
        switch self {
        case .now: now
        case .age(let age): now.addingTimeInterval(-(age / .seconds(1)))
        case .time(let time): time
        case .oldest, .sequence: nil
        }
    }
}
