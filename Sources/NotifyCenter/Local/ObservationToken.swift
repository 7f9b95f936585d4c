/// Holds an observation: it ends when the token is cancelled or goes away.
///
/// A token may be used and released on any thread. It keeps its center alive.
public final class ObservationToken: Sendable {
    private let center: LocalCenter
    /// Not the observer itself: what it captured goes when it ends, even if the token stays.
    private let registration: UInt64
    private let slot: Int32

    init(center: LocalCenter, observer: Observer) {
        self.center = center
        self.registration = observer.registration
        self.slot = observer.slot
    }

    deinit {
        cancel()
    }

    /// Ends the observation. A call that has begun on another thread may still finish; no other begins, also of posts that
    /// are in progress. Cancelling again does nothing.
    public func cancel() {
        center.end(registration, slot: slot)
    }
}
