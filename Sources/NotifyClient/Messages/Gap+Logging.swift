import Logging
import NotifyCenter

extension NotificationClient.Subscription {
    /// Logs a gap as a warning.
    func logGap(_ gap: NotificationClient.Gap) {
        var metadata = gap.metadata
        metadata["notify.patterns"] = .array(spec.patterns.map { .string($0.string) })
        metadata["notify.durable"] = spec.durableName.map { .string($0) }
        core.logWarning(gap, metadata: metadata)
    }
}

extension NotificationClient.Gap {
    /// The metadata of a record about the gap.
    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = ["notify.gap_reason": "\(reason.rawValue)"]
        metadata["notify.missed"] = missed.map { "\($0)" }
        metadata["notify.first_missed"] = sequences.map { "\($0.lowerBound)" }
        metadata["notify.last_missed"] = sequences.map { "\($0.upperBound)" }
        return metadata
    }
}
