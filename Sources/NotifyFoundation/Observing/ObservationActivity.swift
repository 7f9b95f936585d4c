import NotifyCenter

/// The state of an observation, checked before a call that waited on a queue or in a task. It retains neither the
/// observation nor its center, so that an observer may retain it.
final class ObservationActivity: Sendable {
    private let isObservationActive = Lock<(@Sendable () -> Bool)?>(nil)

    /// Sets the observation, as soon as it exists.
    func set(_ observation: Observation) {
        isObservationActive.withLock { $0 = observation.activity }
    }

    /// Whether a call may begin.
    var isActive: Bool {
        // A post may arrive before the observation is set. It can't have been removed by then.
        isObservationActive.withLock { $0 }?() ?? true
    }
}
