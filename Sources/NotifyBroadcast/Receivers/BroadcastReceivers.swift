@_spi(Package) import NotifyCenter

/// The receivers of a broadcaster, held weakly, in order of registration, each with the methods it is registered for.
///
/// Used by the broadcasters that ``Broadcast()`` generates; other code rarely needs it.
///
/// If the receivers are `Sendable`, so is the list, and all members may be called on any thread. No lock is held while
/// receivers run. An iteration skips receivers that are added after it began or removed before it reaches them.
public final class BroadcastReceivers<Receiver> {
    private let state = Lock(State())

    /// Creates an empty list.
    public init() {}

    /// The number of registered receivers that still exist.
    public var count: Int {
        var identities: Set<ObjectIdentifier> = []
        for registration in snapshot() where !registration.hasEnded && registration.reference() != nil {
            identities.insert(registration.identity)
        }
        return identities.count
    }

    /// Whether no registered receiver exists any more.
    public var isEmpty: Bool {
        snapshot().allSatisfy { $0.hasEnded || $0.reference() == nil }
    }

    /// The existing receivers of a method, in order of registration.
    public subscript<Methods: OptionSet>(methods: Methods) -> LiveReceivers<Receiver>
    where Methods.RawValue == UInt64 {
        LiveReceivers(list: self, registrations: snapshot(), methods: methods.rawValue)
    }

    private func snapshot() -> ContiguousArray<Registration> {
        state.withLock { $0.registrations }
    }
}

// Safe: `state` is the only stored property, and a lock guards it. The registrations that leave the lock are immutable
// except for one atomic. The references return receivers, which are `Sendable` here.
extension BroadcastReceivers: @unchecked Sendable where Receiver: Sendable {}

// MARK: - Adding and removing

extension BroadcastReceivers {
    /// Registers a receiver for methods. The receiver keeps its position for methods that it is already registered for,
    /// and is not called twice.
    ///
    /// - Parameters:
    ///   - object: The receiver, compared by identity.
    ///   - methods: The methods to call the receiver for.
    ///   - reference: Returns the receiver while it exists. The closure must capture the receiver weakly, and nothing
    ///     else.
    public func add<Methods: OptionSet>(
        _ object: AnyObject, for methods: Methods, reference: @escaping () -> Receiver?
    ) where Methods.RawValue == UInt64 {
        let identity = ObjectIdentifier(object)
        let methods = methods.rawValue
        let isPruningDue = state.withLock { state in
            // `reference` may be called under the lock here: the caller holds the object, so the returned reference is
            // not the last one, and its release runs no deinitializer. A registration whose receiver is nil belongs to
            // an earlier object at the same address.
            if let known = state.byIdentity[identity]?.first, known.reference() == nil {
                state.end(state.byIdentity[identity] ?? [])
            }
            let missing = (state.byIdentity[identity] ?? []).reduce(methods) { $0 & ~$1.methods }
            if missing == 0 { return false }
            let registration = Registration(identity: identity, methods: missing, reference: reference)
            state.add(registration)
            return state.additionsUntilPruning <= 0
        }
        if isPruningDue { prune() }
    }

    /// Unregisters a receiver from methods. Calls in progress that have not reached the receiver skip it. A call of the
    /// receiver that has begun on another thread may still be running when this method returns.
    public func remove<Methods: OptionSet>(_ object: AnyObject, for methods: Methods) where Methods.RawValue == UInt64 {
        state.withLock { state in
            let registrations = state.byIdentity[ObjectIdentifier(object)] ?? []
            state.end(registrations.filter { $0.end(methods.rawValue) })
        }
    }

    /// Removes the registrations of released receivers. Called at the end of iterations that have found a released
    /// receiver, and periodically by additions.
    func prune() {
        // Not under the lock: `reference` may return the last strong reference, and releasing that runs the receiver's
        // deinitializer.
        let released = snapshot().filter { !$0.hasEnded && $0.reference() == nil }
        state.withLock { state in
            state.end(released)
            state.additionsUntilPruning = max(State.smallestPruningInterval, state.registrations.count)
        }
    }
}
