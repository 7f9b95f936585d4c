/// An observation that somebody began, by which it can be paused and ended. Letting go of it does nothing.
public struct Observation: Sendable {
    let center: LocalCenter
    /// Not the observer itself: what it captured goes when it ends, even if this stays.
    let registration: UInt64
    let slot: Int32

    /// Ends the observation. A call that has begun on another thread may still finish; no other begins, also of posts that
    /// are in progress, and what waits for the observer is dropped. Ending it again does nothing.
    public func cancel() {
        center.end(registration, slot: slot)
    }

    /// Keeps what is posted from now on from the observer, until ``resume()``. It is not made up for. What has been posted
    /// before and waits for the observer, or for a reader, is still delivered.
    public func pause() {
        observer?.setPaused(true)
    }

    /// Lets the observer have what is posted from now on.
    public func resume() {
        observer?.setPaused(false)
    }

    /// Whether it goes on, paused or not. One whose owner is gone ends with the next post to it, or soon after.
    public var isActive: Bool { observer != nil }

    /// How many notifications an observer that runs elsewhere has dropped, because its buffer was full.
    public var droppedCount: Int { observer?.queue?.droppedCount ?? 0 }

    private var observer: Observer? {
        center.state.withLock { state in
            guard let observer = state.observers.value(at: Int(slot)), observer.registration == registration else {
                return nil
            }
            return observer
        }
    }
}

/// Holds an observation: it ends when the token is cancelled or goes away.
///
/// A token may be used and released on any thread. It keeps its center.
public final class ObservationToken: Sendable {
    /// The observation that ends with the token.
    public let observation: Observation

    init(_ observation: Observation) {
        self.observation = observation
    }

    deinit {
        observation.cancel()
    }

    /// Ends the observation. See ``Observation/cancel()``.
    public func cancel() { observation.cancel() }

    /// Keeps what is posted from now on from the observer. See ``Observation/pause()``.
    public func pause() { observation.pause() }

    /// Lets the observer have what is posted from now on.
    public func resume() { observation.resume() }
}
