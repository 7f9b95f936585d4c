extension Observation {
    /// A closure that returns ``isActive`` and holds the center weakly. Observers, which the center holds, can capture
    /// it without a reference cycle.
    package var activity: @Sendable () -> Bool {
        { [weak center, registration, slot] in
            guard let center else { return false }
            return Observation(center: center, registration: registration, slot: slot).isActive
        }
    }
}
