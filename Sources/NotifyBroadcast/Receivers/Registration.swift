import Synchronization

extension BroadcastReceivers {
    /// All registrations, guarded by the list's lock.
    struct State {
        static var smallestPruningInterval: Int { 32 }

        var registrations: ContiguousArray<Registration> = []
        var byIdentity: [ObjectIdentifier: [Registration]] = [:]
        /// The number of ended registrations that are still in the array.
        private var endedCount = 0
        var additionsUntilPruning = Self.smallestPruningInterval

        init() {}

        mutating func add(_ registration: Registration) {
            registrations.append(registration)
            byIdentity[registration.identity, default: []].append(registration)
            additionsUntilPruning -= 1
        }

        /// Ends registrations. Ended registrations stay in the array until they are more than half of it, so that
        /// removal takes amortized constant time.
        mutating func end(_ ended: some Sequence<Registration>) {
            for registration in ended {
                _ = registration.end(.max)
                guard var others = byIdentity[registration.identity],
                    let index = others.firstIndex(where: { $0 === registration })
                else { continue }
                others.remove(at: index)
                byIdentity[registration.identity] = others.isEmpty ? nil : others
                endedCount += 1
            }
            guard endedCount * 2 > registrations.count else { return }
            registrations.removeAll { $0.hasEnded }
            endedCount = 0
        }
    }

    /// A receiver and the methods it is registered for. Methods can be removed, but not added.
    // Safe: all properties are constants or atomic. `reference` is not `Sendable`, but it is only called by the list
    // and its iterators, which are themselves `Sendable` only if the receivers are.
    final class Registration: @unchecked Sendable {
        let identity: ObjectIdentifier
        let reference: () -> Receiver?
        private let remaining: Atomic<UInt64>

        init(identity: ObjectIdentifier, methods: UInt64, reference: @escaping () -> Receiver?) {
            self.identity = identity
            self.reference = reference
            remaining = Atomic(methods)
        }

        var methods: UInt64 { remaining.load(ordering: .acquiring) }
        var hasEnded: Bool { methods == 0 }

        /// Ends the registration for these methods.
        ///
        /// - Returns: Whether no method is left.
        func end(_ methods: UInt64) -> Bool {
            remaining.bitwiseAnd(~methods, ordering: .acquiringAndReleasing).newValue == 0
        }
    }
}
