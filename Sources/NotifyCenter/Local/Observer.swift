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
    // Apart and constant, because taking a closure out of an enumeration counts a reference for each call.
    private let call: @Sendable (LocalNotification) -> Void
    private let callOwned: @Sendable (LocalNotification) -> Bool
    private let isOwnerAlive: @Sendable () -> Bool
    let isOwned: Bool
    private let hasEnded = Atomic(false)

    init(registration: UInt64, slot: Int32, body: Body) {
        self.registration = registration
        self.slot = slot
        switch body {
        case .closure(let call):
            self.call = call
            callOwned = { _ in true }
            isOwnerAlive = { true }
            isOwned = false
        case .owned(let deliver, let isAlive):
            call = { _ in }
            callOwned = deliver
            isOwnerAlive = isAlive
            isOwned = true
        }
    }

    /// From now on no call begins.
    func end() {
        hasEnded.store(true, ordering: .releasing)
    }

    /// Calls the observer, unless it has ended. Answers false if its owner is gone.
    @inline(__always)
    func deliver(_ notification: LocalNotification) -> Bool {
        if hasEnded.load(ordering: .acquiring) { return true }
        if isOwned { return callOwned(notification) }
        call(notification)
        return true
    }

    var isOwnerGone: Bool { !isOwnerAlive() }
}

/// The observers that a resolution reaches, in order.
final class ObserverList: Sendable {
    private let observers: ContiguousArray<Observer>

    init(_ observers: ContiguousArray<Observer>) {
        self.observers = observers
    }

    /// Calls all of them, and hands out those whose owners are gone.
    func deliver(_ notification: LocalNotification, ownerGone: (Observer) -> Void) {
        observers.withUnsafeBufferPointer { observers in
            for index in observers.indices {
                // The list holds its observers, and whoever calls this holds the list.
                let observer = Unmanaged.passUnretained(observers[index])
                if !observer._withUnsafeGuaranteedRef({ $0.deliver(notification) }) { ownerGone(observers[index]) }
            }
        }
    }
}
