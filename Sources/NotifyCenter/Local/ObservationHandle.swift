/// A handle to pause or end an observation. Releasing the handle does not end the observation.
public struct ObservationHandle: Sendable {
    let center: LocalCenter
    /// Identifies the observer. This is not a reference, so that the observer's captures are released when the
    /// observation ends.
    let registration: UInt64
    let slot: Int32

    /// Ends the observation and drops its buffered notifications. No call begins after this returns, not even for posts
    /// in progress, except one on another thread that has just found the observation active. A call in progress on
    /// another thread continues.
    ///
    /// Does nothing if the observation has already ended. If another one with the same key has replaced it, posts in
    /// progress still call the observer; see ``ObservationOptions/key(_:)``.
    public func cancel() {
        center.end(registration, slot: slot)
    }

    /// Stops delivery of later posts until ``resume()``. Posts during the pause are not delivered later. Notifications
    /// that are already buffered for the observer, or for a reader, are still delivered.
    public func pause() {
        observer?.setPaused(true)
    }

    /// Resumes delivery of later posts.
    public func resume() {
        observer?.setPaused(false)
    }

    /// Whether the observation has not ended. A paused observation is active. The observation of a released owner ends
    /// with the next matching post, or when the center removes such observations.
    public var isActive: Bool { observer != nil }

    /// The number of notifications dropped because the observer's buffer was full; 0 without a buffer.
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

/// Owns an observation, which ends when the token is cancelled or released.
///
/// A token may be used and released on any thread. It keeps its center alive.
public final class ObservationToken: Sendable {
    /// The observation that the token ends.
    public let observation: ObservationHandle

    init(_ observation: ObservationHandle) {
        self.observation = observation
    }

    deinit {
        observation.cancel()
    }

    /// Ends the observation. See ``ObservationHandle/cancel()``.
    public func cancel() { observation.cancel() }

    /// Stops delivery of later posts. See ``ObservationHandle/pause()``.
    public func pause() { observation.pause() }

    /// Resumes delivery of later posts.
    public func resume() { observation.resume() }
}
