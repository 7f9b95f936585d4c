extension ObservationHandle {
    /// A closure that returns ``isActive`` and holds the center weakly. An observer can capture this closure without a
    /// reference cycle, although the center holds the observer.
    package var activity: @Sendable () -> Bool {
        { [weak center, registration, slot] in
            guard let center else { return false }
            return ObservationHandle(center: center, registration: registration, slot: slot).isActive
        }
    }
}
