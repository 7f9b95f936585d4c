extension Observation {
    /// Tells whether the observation goes on, as ``isActive`` does, without keeping its center: for observers, which the
    /// center keeps.
    package var activity: @Sendable () -> Bool {
        { [weak center, registration, slot] in
            guard let center else { return false }
            return Observation(center: center, registration: registration, slot: slot).isActive
        }
    }
}
