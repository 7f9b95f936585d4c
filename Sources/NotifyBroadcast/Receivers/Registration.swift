import Synchronization

extension BroadcastReceivers {
    /// All registrations, behind the list's lock.
    struct State {
        static var smallestPruningInterval: Int { 32 }

        var registrations: ContiguousArray<Registration> = []
        var byIdentity: [ObjectIdentifier: [Registration]] = [:]
        /// How many of the registrations have ended and only wait to be swept out.
        private var endedCount = 0
        var additionsUntilPruning = Self.smallestPruningInterval

        init() {}

        mutating func add(_ registration: Registration) {
            registrations.append(registration)
            byIdentity[registration.identity, default: []].append(registration)
            additionsUntilPruning -= 1
        }

        /// Takes registrations out. They stay in the array until half of it has ended, so that each costs little.
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

    /// A receiver and the methods it is called for. It stands for the same ones as long as it lives: methods only go.
    // What is mutable is atomic. A list whose receivers are not Sendable does not leave its thread, nor does what it
    // holds.
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

        /// Ends it for these methods. Answers whether none is left.
        func end(_ methods: UInt64) -> Bool {
            remaining.bitwiseAnd(~methods, ordering: .acquiringAndReleasing).newValue == 0
        }
    }
}
