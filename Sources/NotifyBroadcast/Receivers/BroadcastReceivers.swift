import NotifyCenter

/// The receivers of a broadcaster: weak, in order of registration, each with the methods it wants.
///
/// A broadcaster that ``Broadcast()`` makes holds one; there is rarely a reason to make one by hand.
///
/// If the receivers are `Sendable`, so is the list, and all members may be called on any thread. No lock is held while
/// receivers run. What is added during an iteration is not part of it; what is removed before its turn came is left
/// out.
public final class BroadcastReceivers<Receiver> {
    private let state = Lock(State())

    /// Makes an empty list.
    public init() {}

    /// How many receivers are registered and alive.
    public var count: Int {
        var identities: Set<ObjectIdentifier> = []
        for registration in snapshot() where !registration.hasEnded && registration.reference() != nil {
            identities.insert(registration.identity)
        }
        return identities.count
    }

    /// Whether no receiver is registered and alive.
    public var isEmpty: Bool {
        snapshot().allSatisfy { $0.hasEnded || $0.reference() == nil }
    }

    /// The living receivers of a method, in order of registration.
    public subscript<Methods: OptionSet>(methods: Methods) -> LivingReceivers<Receiver>
    where Methods.RawValue == UInt64 {
        LivingReceivers(list: self, registrations: snapshot(), methods: methods.rawValue)
    }

    private func snapshot() -> ContiguousArray<Registration> {
        state.withLock { $0.registrations }
    }
}

// Each mutable thing is behind the lock or atomic. Only the receivers themselves are handed out.
extension BroadcastReceivers: @unchecked Sendable where Receiver: Sendable {}

// MARK: - Adding and removing

extension BroadcastReceivers {
    /// Registers a receiver for methods. For those it is registered for already it keeps its place and is not called
    /// twice.
    ///
    /// - Parameters:
    ///   - object: The receiver, known by its identity.
    ///   - methods: The methods it is to be called for.
    ///   - reference: Gives the receiver while it lives. It captures the receiver weakly, and nothing else.
    public func add<Methods: OptionSet>(
        _ object: AnyObject, for methods: Methods, reference: @escaping () -> Receiver?
    ) where Methods.RawValue == UInt64 {
        let identity = ObjectIdentifier(object)
        let methods = methods.rawValue
        let isPruningDue = state.withLock { state in
            // The caller holds the object, so this look releases nothing. What is gone was another at the same address.
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

    /// Ends what a receiver is registered for. It is not called any more, also by calls that are in progress and have
    /// not come to it. (A call to it that has begun on another thread may still finish.)
    public func remove<Methods: OptionSet>(_ object: AnyObject, for methods: Methods) where Methods.RawValue == UInt64 {
        state.withLock { state in
            let registrations = state.byIdentity[ObjectIdentifier(object)] ?? []
            state.end(registrations.filter { $0.end(methods.rawValue) })
        }
    }

    /// Forgets those that are gone. Iterations that meet one call this, and now and then an addition.
    func prune() {
        // Not under the lock: looking at a receiver may turn out to hold its last reference.
        let dead = snapshot().filter { !$0.hasEnded && $0.reference() == nil }
        state.withLock { state in
            state.end(dead)
            state.additionsUntilPruning = max(State.smallestPruningInterval, state.registrations.count)
        }
    }
}
