@_spi(Package) import NotifyCenter

/// The state of an observation, checked before a call that waited on a queue or in a task. This object retains neither
/// the observation nor its center, so an observer may retain this object.
final class ObservationActivity: Sendable {
    private let isObservationActive = Lock<(@Sendable () -> Bool)?>(nil)

    /// Sets the observation, as soon as it exists.
    func set(_ observation: ObservationHandle) {
        isObservationActive.withLock { $0 = observation.activity }
    }

    /// Whether a call may begin.
    var isActive: Bool {
        // A post may arrive before the observation is set. Until then, the observation counts as active: its token has
        // not been returned yet.
        isObservationActive.withLock { $0 }?() ?? true
    }
}
