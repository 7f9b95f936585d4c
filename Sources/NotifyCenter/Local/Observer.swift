import Synchronization

/// One registration of a ``LocalCenter``.
final class Observer: Sendable {
    /// What is called.
    enum Body: Sendable {
        case closure(@Sendable (LocalNotification) -> Void)
        /// Answers false if the owner is gone.
        case owned(deliver: @Sendable (LocalNotification) -> Bool, isAlive: @Sendable () -> Bool)
    }

    let registration: UInt64
    let slot: Int32
    private let body: Body
    private let hasEnded = Atomic(false)

    init(registration: UInt64, slot: Int32, body: Body) {
        self.registration = registration
        self.slot = slot
        self.body = body
    }

    /// From now on no call begins.
    func end() {
        hasEnded.store(true, ordering: .releasing)
    }

    /// Calls the observer, unless it has ended. Answers false if its owner is gone.
    @inline(__always)
    func deliver(_ notification: LocalNotification) -> Bool {
        if hasEnded.load(ordering: .acquiring) { return true }
        switch body {
        case .closure(let call):
            call(notification)
            return true
        case .owned(let deliver, _):
            return deliver(notification)
        }
    }

    var isOwned: Bool {
        if case .owned = body { true } else { false }
    }

    var isOwnerGone: Bool {
        if case .owned(_, let isAlive) = body { !isAlive() } else { false }
    }
}

/// The observers that a resolution reaches, in order.
final class ObserverList: Sendable {
    let observers: ContiguousArray<Observer>

    init(_ observers: ContiguousArray<Observer>) {
        self.observers = observers
    }
}
