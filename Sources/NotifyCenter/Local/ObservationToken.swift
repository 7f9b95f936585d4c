/// Holds an observation: it ends when the token is cancelled or goes away.
///
/// A token may be used and released on any thread. It keeps its center alive.
public final class ObservationToken: Sendable {
    private let center: LocalCenter
    private let observer: Observer

    init(center: LocalCenter, observer: Observer) {
        self.center = center
        self.observer = observer
    }

    deinit {
        center.end(observer)
    }

    /// Ends the observation. A call that has begun on another thread may still finish; no other begins, also of posts that
    /// are in progress. Cancelling again does nothing.
    public func cancel() {
        center.end(observer)
    }
}
