import NotifyCenter
import NotifyLog
import NotifyWire

/// The refusal of a client that names other patterns or another object.
extension DurableSubscription {
    /// The most bytes of the patterns, and of the object, in the message.
    private static let shownPatternBytes = 140
    private static let shownObjectBytes = 60

    /// Describes how the subscription differs, and how to attach without losing its backlog. An edit replaces the
    /// patterns; the object can't be changed.
    func mismatch(with requested: SubscriptionFilter) -> WireError {
        let patterns = "other patterns, \(shownPatterns)"
        let object =
            filter.object.map { "another object, '\(Self.clipped($0, to: Self.shownObjectBytes))'" } ?? "no object"
        let advice =
            switch (filter.patterns == requested.patterns, filter.object == requested.object) {
            case (false, true):
                "\(patterns): use those, or replace them with 'notifyctl durable edit \(name) --patterns …', which keeps "
                    + "its messages"
            case (true, _): "\(object): use that, or another subscription name"
            case (false, false): "\(patterns), and \(object): use those, or another subscription name"
            }
        return WireError(.subscriptionMismatch, "durable subscription '\(name)' exists with \(advice)")
    }

    private var shownPatterns: String {
        var text = ""
        for pattern in filter.patterns {
            let next = (text.isEmpty ? "'" : " '") + pattern.string + "'"
            guard text.utf8.count + next.utf8.count <= Self.shownPatternBytes else {
                // At least a part of the first one is shown.
                return text.isEmpty ? "'\(Self.clipped(pattern.string, to: Self.shownPatternBytes))'" : text + " …"
            }
            text += next
        }
        return text
    }

    /// The beginning of a text, with U+FFFD in place of control characters.
    private static func clipped(_ text: String, to limit: Int) -> String {
        var clipped = ""
        var bytes = 0
        for scalar in text.unicodeScalars {
            let isControl = scalar.properties.generalCategory == .control
            let shown = isControl ? "\u{FFFD}" : scalar
            bytes += UTF8.width(shown)
            guard bytes <= limit else { return clipped + "…" }
            clipped.unicodeScalars.append(shown)
        }
        return clipped
    }
}
