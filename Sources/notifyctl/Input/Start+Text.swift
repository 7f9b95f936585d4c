import FoundationEssentials
import NotifyClient

extension NotificationClient.Start {
    /// The same position; an age becomes a time.
    func fixed(at now: Date) -> Self {
        if case .age(let age) = self { .time(now.addingTimeInterval(-(age / .seconds(1)))) } else { self }
    }

    /// The messages before the position, as the end of "the messages …".
    func textBefore(_ times: TimeStyle) -> String {
        switch self {
        case .now: "posted before now"
        case .oldest: "before the oldest one"
        case .sequence(let sequence): "with a sequence below \(sequence)"
        case .age(let age): "posted more than \(Quantities.duration(seconds: UInt64(age.components.seconds))) ago"
        case .time(let time): "posted before \(times.text(time))"
        }
    }
}
