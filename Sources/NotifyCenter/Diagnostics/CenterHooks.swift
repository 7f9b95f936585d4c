/// Hooks of a center that report unobserved posts, errors of observers, and repeated observations.
///
/// ```swift
/// center.hooks.unobserved = { print("\($0.name) is not observed") }
/// ```
///
/// Hooks are called on the thread that posts, registers or calls the observer, and may call the center. Set them at the
/// start of the program: setting one hook replaces all of them, so concurrent changes can overwrite each other.
public struct CenterHooks: Sendable {
    /// Called for each post that reaches no observer. An observer that is paused or whose owner has been released is
    /// not reached.
    public var unobserved: (@Sendable (LocalNotification) -> Void)?

    /// Called for each error that an observer throws; the other observers are still called. The default writes a line
    /// to standard error.
    public var failed: @Sendable (ObserverFailure) -> Void = { StandardError.write("\($0)") }

    /// Called when an owner registers an observation that it already has: with the same names and object, at the same
    /// source location, and without a key. This is usually a mistake: a post calls the owner once for each of these
    /// registrations. Called once for each owner and observation. The default writes a line to standard error.
    public var repeated: @Sendable (RepeatedObservation) -> Void = { StandardError.write("\($0)") }

    /// Creates the default hooks.
    public init() {}
}

extension LocalCenter {
    /// The hooks of the center. A change applies to later events.
    public var hooks: CenterHooks {
        get { state.withLock { $0.hooks } }
        set {
            // The old hooks are released outside the lock, because deinitializers of their captures may call the
            // center.
            let old = state.withLock { state in
                let old = state.hooks
                state.hooks = newValue
                set(Feature.unobservedHook, to: newValue.unobserved != nil)
                return old
            }
            withExtendedLifetime(old) {}
        }
    }

    /// Reports a post that reaches no observer. Must run before the observers are called, because one observer may end
    /// others.
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
    /// The thrown error.
    public let error: any Error

    /// The notification that the observer was called with.
    public let notification: LocalNotification

    /// The source location at which the observer was registered.
    public let place: SourcePlace

    /// A description in one line.
    public var description: String {
        "NotifyCenter: the observer registered at \(place) threw an error for '\(notification.name)': \(error)"
    }
}

/// An observation that the same owner registers repeatedly.
public struct RepeatedObservation: Sendable, CustomStringConvertible {
    /// The type of the owner.
    public let ownerType: String

    /// The observed names or patterns.
    public let names: String

    /// The source location at which the observation was registered.
    public let place: SourcePlace

    /// A description in one line.
    public var description: String {
        "NotifyCenter: an owner of type \(ownerType) repeatedly registers the same observation of '\(names)' "
            + "at \(place); register it once, or give it a key"
    }

    /// Returns nil if the owner has been released.
    init?(_ observer: Observer) {
        guard let ownerType = observer.ownerTypeName else { return nil }
        self.ownerType = ownerType
        names = "\(observer.names)"
        place = observer.place
    }

    /// Whether an observation repeats an earlier one of the same owner. Must not be called under the center's lock,
    /// because this method may release the last reference to an observed instance.
    static func isRepetition(_ observer: Observer, of earlier: Observer) -> Bool {
        // An observation of a released instance differs from an observation of a new instance at the same address.
        !earlier.isOrphaned && Place(observer) == Place(earlier)
    }

    /// The properties by which repeated observations are compared: source location, names and object.
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

extension Observer {
    /// The hash value by which repetitions are found; nil if the observation has no owner, or a key.
    var repetitionHash: Int? {
        ownerIdentifier == nil || options.key != nil ? nil : RepeatedObservation.Place(self).hashValue
    }
}
