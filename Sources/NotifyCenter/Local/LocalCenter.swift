import Synchronization

/// A notification center for the parts of one process.
///
/// Observers say which names they want, or which patterns of names; posts reach them on the poster's thread, those of
/// higher priority first and otherwise in order of registration, before `post` returns.
///
/// ```swift
/// let center = LocalCenter()
/// let token = center.observe(try NamePattern("orders.*")) { notification in
///     print(notification.name)
/// }
/// center.post(try NotificationName("orders.created"))
/// ```
///
/// All members may be called on any thread, also by an observer that is being called. No lock is held while observers run.
/// An observation that is added during a post is not called for it; one that ends before its turn came is not called any
/// more.
public final class LocalCenter: Sendable {
    private struct State: ~Copyable, Sendable {
        var core = CenterCore()
        /// By slot.
        var observers: ContiguousArray<Observer?> = []
        var vacant: ContiguousArray<Int32> = []
        var additionsUntilPruning = LocalCenter.smallestPruningInterval
    }

    private static let smallestPruningInterval = 32

    private let state = Mutex(State())

    /// Makes a center that knows nobody.
    public init() {}

    /// How many observations there are, those of owners that are gone not counted.
    public var observationCount: Int {
        pruneDeadOwners()
        return state.withLock { $0.core.registrationCount }
    }
}

// MARK: - Posting

extension LocalCenter {
    /// Calls everybody who observes the name. Returns after the last call.
    ///
    /// - Parameters:
    ///   - name: What the notification is about.
    ///   - object: What it concerns. It reaches those who filter this very object, and those who filter none.
    ///   - payload: Handed to the observers as it is.
    public func post(
        _ name: consuming NotificationName, object: consuming String? = nil, payload: consuming (any Sendable)? = nil
    ) {
        guard let list = observers(of: name, object: object) else { return }
        list.deliver(LocalNotification(name: name, object: object, payload: payload), ownerGone: end)
    }

    /// Calls everybody who observes the notification's name. Returns after the last call.
    public func post(_ notification: LocalNotification) {
        guard let list = observers(of: notification.name, object: notification.object) else { return }
        list.deliver(notification, ownerGone: end)
    }

    private func observers(of name: borrowing NotificationName, object: borrowing String?) -> ObserverList? {
        guard let object = copy object else { return name.withUTF8 { observers(of: $0, object: nil) } }
        return name.withUTF8 { name in object.withUTF8Bytes { observers(of: name, object: $0) } }
    }

    private func observers(of name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer?) -> ObserverList? {
        state.withLock { state in
            let resolution = state.core.resolve(name: name, object: object)
            if resolution.isEmpty { return nil }
            if let known = resolution.observers { return known }
            // Every registration of a fresh resolution has its observer: both change under the same lock.
            let observers = resolution.registrations.compactMap { state.observers[Int($0.slot)] }
            let list = ObserverList(ContiguousArray(observers))
            resolution.observers = list
            return list
        }
    }
}

// MARK: - Observations

extension LocalCenter {
    /// Registers a body and gives its observer.
    func add(
        patterns: [NamePattern], object: String?, priority: Int32, body: Observer.Body
    ) -> Observer {
        let (observer, isPruningDue) = state.withLock { state in
            let slot = state.vacant.popLast() ?? Int32(state.observers.count)
            if slot == state.observers.count { state.observers.append(nil) }
            let id = state.core.add(patterns: patterns, object: object, priority: priority, slot: slot)
            let observer = Observer(registration: id, slot: slot, body: body)
            state.observers[Int(slot)] = observer
            state.additionsUntilPruning -= 1
            return (observer, observer.isOwned && state.additionsUntilPruning <= 0)
        }
        if isPruningDue { pruneDeadOwners() }
        return observer
    }

    /// Ends an observation that may have ended before.
    func end(_ registration: UInt64, slot: Int32) {
        let observer: Observer? = state.withLock { state in
            guard state.core.remove(registration) else { return nil }
            state.vacant.append(slot)
            return state.observers[Int(slot)].take()
        }
        // The last reference goes here and not under the lock: what the closure held may call the center as it goes.
        observer?.end()
    }

    private func end(_ observer: Observer) {
        end(observer.registration, slot: observer.slot)
    }

    /// Ends the observations of owners that are gone. Those that are posted to end by themselves; this is for the others,
    /// and comes after as many additions as there were observations last time.
    private func pruneDeadOwners() {
        let owned = state.withLock { state in
            state.additionsUntilPruning = max(Self.smallestPruningInterval, state.core.registrationCount)
            return state.observers.filter { $0?.isOwned == true }
        }
        // Not under the lock: looking at an owner may turn out to hold its last reference.
        for case let observer? in owned where observer.isOwnerGone { end(observer) }
    }
}
