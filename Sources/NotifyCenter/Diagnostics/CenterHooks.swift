/// What a center tells of besides delivering: posts in vain, handlers that fail, observers that pile up.
///
/// ```swift
/// center.hooks.unobserved = { print("nobody wants \($0.name)") }
/// ```
///
/// Hooks are called on the thread on which it happened. They may call the center. They are there to be set as a program
/// starts: to set one is to set all of them, so that of two threads that do so at once, one loses.
public struct CenterHooks: Sendable {
    /// Called for each post that reaches no observer. One that is paused, or whose owner is gone, is not reached.
    public var unobserved: (@Sendable (LocalNotification) -> Void)?

    /// Called for each error that an observer throws; the others get the notification all the same. Unless it is set, a line
    /// on standard error says so.
    public var failed: @Sendable (ObserverFailure) -> Void = { StandardError.write("\($0)") }

    /// Called once for each owner and place where the same observation is made again and again, which is usually a mistake:
    /// the owner then gets everything as many times. Unless it is set, a line on standard error says so.
    public var repeated: @Sendable (RepeatedObservation) -> Void = { StandardError.write("\($0)") }

    /// The hooks of a new center.
    public init() {}
}

extension LocalCenter {
    /// What the center tells of. A change holds for what happens after it.
    public var hooks: CenterHooks {
        get { state.withLock { $0.hooks } }
        set {
            // The old ones go without the lock, and so does what they hold.
            let old = state.withLock { state in
                let old = state.hooks
                state.hooks = newValue
                set(Feature.unobservedHook, to: newValue.unobserved != nil)
                return old
            }
            withExtendedLifetime(old) {}
        }
    }

    /// Tells of a post that reaches nobody. Before the observers are called: one of them may end others.
    func reportIfUnobserved(_ notification: LocalNotification, by list: ObserverList?) {
        if let list, list.observers.contains(where: { $0.isReached(by: notification) }) { return }
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
    /// What was thrown.
    public let error: any Error

    /// What the observer was called with.
    public let notification: LocalNotification

    /// Where the observer was registered.
    public let place: SourcePlace

    /// One line for people to read.
    public var description: String {
        "NotifyCenter: the observer of \(place) failed at '\(notification.name)': \(error)"
    }
}

/// An observation that the same owner makes again and again.
public struct RepeatedObservation: Sendable, CustomStringConvertible {
    /// The owner's type.
    public let ownerType: String

    /// What it observes.
    public let names: String

    /// Where.
    public let place: SourcePlace

    /// One line for people to read.
    public var description: String {
        "NotifyCenter: a \(ownerType) observes '\(names)' again and again at \(place); give the observation a key, "
            + "or make it once"
    }

    /// Nil if the owner is gone.
    init?(_ observer: Observer) {
        guard let ownerType = observer.ownerTypeName else { return nil }
        self.ownerType = ownerType
        names = "\(observer.names)"
        place = observer.place
    }

    /// One of each of those that an owner has again and again. A look at what they ask for may let go of it.
    static func repetitions(among observers: [Observer]) -> [Observer] {
        var counts: [Place: Int] = [:]
        return observers.filter { observer in
            // One of an instance that is gone is another one than that of an instance at the same address.
            if observer.options.key != nil || observer.isOrphaned { return false }
            let place = Place(observer)
            counts[place, default: 0] += 1
            return counts[place] == OwnerIndex.repetitions
        }
    }

    /// The same observation at the same place.
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
