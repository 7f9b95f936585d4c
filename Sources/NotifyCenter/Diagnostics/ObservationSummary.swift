/// Who observes what, for debugging.
public struct ObservationSummary: Sendable, CustomStringConvertible {
    /// The names or patterns.
    public let names: String

    /// The object that is asked for, if it is only one.
    public let object: String?

    /// The owner's type, if there is an owner and it is still there.
    public let ownerType: String?

    /// Its priority.
    public let priority: Int32

    /// Its key, if it has one.
    public let key: String?

    /// Whether it is paused.
    public let isPaused: Bool

    /// How many notifications it dropped because its buffer was full.
    public let droppedCount: Int

    /// Where it was registered.
    public let place: SourcePlace

    /// One line for people to read.
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
    /// Everybody who observes something, in order of registration.
    public var observations: [ObservationSummary] {
        endOrphans()
        let all = state.withLock { Array($0.observers.values) }
        return all.sorted { $0.registration < $1.registration }.map(ObservationSummary.init)
    }
}
