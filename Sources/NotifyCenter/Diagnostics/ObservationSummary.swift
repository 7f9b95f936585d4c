/// A summary of an observation, for debugging.
public struct ObservationSummary: Sendable, CustomStringConvertible {
    /// The observed names or patterns.
    public let names: String

    /// The observed object, or nil if the observation has no object filter.
    public let object: String?

    /// The type of the owner, or nil if there is none or it has been released.
    public let ownerType: String?

    /// The priority of the observation.
    public let priority: Int32

    /// The key of the observation, if it has one.
    public let key: String?

    /// Whether the observation is paused.
    public let isPaused: Bool

    /// The number of notifications that were dropped because the buffer was full.
    public let droppedCount: Int

    /// The source location at which the observation was registered.
    public let place: SourcePlace

    /// A description in one line.
    public var description: String {
        var parts = [names]
        if let object { parts.append("object \(object)") }
        if let ownerType { parts.append("owner \(ownerType)") }
        if priority != 0 { parts.append("priority \(priority)") }
        if let key { parts.append("key \(key)") }
        if isPaused { parts.append("paused") }
        if droppedCount > 0 { parts.append("dropped \(droppedCount)") }
        return parts.joined(separator: ", ") + " at \(place)"
    }

    init(_ observer: Observer) {
        names = "\(observer.names)"
        object = observer.objectDescription
        ownerType = observer.ownerTypeName
        priority = observer.options.priority
        key = observer.options.key
        isPaused = observer.isPaused
        droppedCount = observer.queue?.droppedCount ?? 0
        place = observer.place
    }
}

extension LocalCenter {
    /// The summaries of all observations, in order of registration.
    public var observations: [ObservationSummary] {
        endOrphans()
        let all = state.withLock { Array($0.observers.values) }
        return all.sorted { $0.registration < $1.registration }.map(ObservationSummary.init)
    }
}
