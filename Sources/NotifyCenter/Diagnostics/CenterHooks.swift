/// Hooks of a center that report unobserved posts, errors of observers, and repeated observations.
///
/// ```swift
/// center.hooks.unobserved = { print("\($0.name) is not observed") }
/// ```
///
/// Hooks are called on the thread that posts, registers or calls the observer, and may call the center. Set them at the
/// start of the program: setting one hook replaces all of them, so concurrent changes can overwrite each other.
public struct CenterHooks: Sendable {
    /// Called for each post that reaches no observer. Paused observers and those of released owners do not count.
    public var unobserved: (@Sendable (LocalNotification) -> Void)?

    /// Called for each error that an observer throws; the other observers are still called. By default writes a line to
    /// standard error.
    public var failed: @Sendable (ObserverFailure) -> Void = { StandardError.write("\($0)") }

    /// Called once for each owner and source location that repeatedly registers the same observation. That is usually a
    /// mistake: the owner is called once per registration. By default writes a line to standard error.
    public var repeated: @Sendable (RepeatedObservation) -> Void = { StandardError.write("\($0)") }

    /// The hooks of a new center.
    public init() {}
}

extension LocalCenter {
    /// The hooks of the center. A change applies to later events.
    public var hooks: CenterHooks {
        get { state.withLock { $0.hooks } }
        set {
            // The old hooks are released outside the lock, because their captures may call the center.
            let old = state.withLock { state in
                let old = state.hooks
                state.hooks = newValue
                set(Feature.unobservedHook, to: newValue.unobserved != nil)
                return old
            }
            withExtendedLifetime(old) {}
        }
    }

    /// Reports a post without observers. Called before the observers, because one of them may end others.
    func reportIfUnobserved(_ notification: LocalNotification, by list: ObserverList?) {
        if let list, list.observers.contains(where: { $0.wouldReceive(notification) }) { return }
        hooks.unobserved?(notification)
    }

    @inline(never)
    func report(_ error: any Error, of observer: Observer, for notification: LocalNotification) {
        report(error, at: observer.place, for: notification)
    }

    func report(_ error: any Error, at place: SourcePlace, for notification: LocalNotification) {
        hooks.failed(ObserverFailure(error: error, notification: notification, place: place))
    }
}

/// An error that an observer threw.
public struct ObserverFailure: Sendable, CustomStringConvertible {
    /// The error.
    public let error: any Error

    /// The notification that the observer was called with.
    public let notification: LocalNotification

    /// Where the observer was registered.
    public let place: SourcePlace

    /// One line to display.
    public var description: String {
        "NotifyCenter: the observer registered at \(place) threw an error for '\(notification.name)': \(error)"
    }
}

/// An observation that the same owner registers repeatedly.
public struct RepeatedObservation: Sendable, CustomStringConvertible {
    /// The type of the owner.
    public let ownerType: String

    /// The observed names.
    public let names: String

    /// Where it was registered.
    public let place: SourcePlace

    /// One line to display.
    public var description: String {
        "NotifyCenter: an owner of type \(ownerType) repeatedly registers the same observation of '\(names)' at \(place); "
            + "register it once, or give it a key"
    }

    /// Nil if the owner was released.
    init?(_ observer: Observer) {
        guard let ownerType = observer.ownerTypeName else { return nil }
        self.ownerType = ownerType
        names = "\(observer.names)"
        place = observer.place
    }

    /// Returns one of each set of equal observations of an owner. May release the last reference to an observed instance.
    static func repetitions(among observers: [Observer]) -> [Observer] {
        var counts: [Place: Int] = [:]
        return observers.filter { observer in
            // The object of a released instance differs from that of a new instance at the same address.
            if observer.options.key != nil || observer.isOrphaned { return false }
            let place = Place(observer)
            counts[place, default: 0] += 1
            return counts[place] == OwnerIndex.repetitionThreshold
        }
    }

    /// Identifies equal observations: same source location, names and object.
    struct Place: Hashable {
        let file: UInt
        let line: UInt
        let names: ObservedNames
        let object: UInt64?

        init(_ observer: Observer) {
            file = UInt(bitPattern: observer.place.fileID.utf8Start)
            line = observer.place.line
            names = observer.names
            object = observer.objectKey?.hash
        }
    }
}
