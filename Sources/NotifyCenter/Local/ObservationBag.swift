/// Owns observations and interceptions, which end when the bag is released or emptied.
///
/// ```swift
/// final class Screen: Sendable {
///     private let bag = ObservationBag()
///
///     func start(with center: LocalCenter) throws {
///         try center.observe("orders.*") { print($0.name) }.store(in: bag)
///         try center.observe("users.*") { print($0.name) }.store(in: bag)
///     }
/// }
/// ```
///
/// All members may be called on any thread.
public final class ObservationBag: Sendable {
    private struct State {
        var observations: [ObservationToken] = []
        var interceptions: [InterceptionToken] = []
        /// The number of observations at which the bag next removes ended ones.
        var nextPruning = 32
    }

    private let state = Lock(State())

    /// Creates an empty bag.
    public init() {}

    /// The number of observations that have not ended, and of interceptions that the bag has not ended.
    public var count: Int {
        let (observations, interceptions) = state.withLock { ($0.observations, $0.interceptions.count) }
        return observations.count(where: \.observation.isActive) + interceptions
    }

    /// Adds an observation.
    public func add(_ token: ObservationToken) {
        let candidates: [ObservationToken]? = state.withLock { state in
            state.observations.append(token)
            return state.observations.count >= state.nextPruning ? state.observations : nil
        }
        if let candidates { removeEnded(among: candidates) }
    }

    /// Adds an interception.
    public func add(_ token: InterceptionToken) {
        state.withLock { $0.interceptions.append(token) }
    }

    /// Ends all observations and interceptions in the bag. The bag can be used again.
    public func cancelAll() {
        let old = state.withLock { state in
            defer { state = State() }
            return state
        }
        for token in old.observations { token.cancel() }
        for token in old.interceptions { token.cancel() }
    }

    /// Removes the tokens whose observations have ended. Calls the center outside the lock.
    private func removeEnded(among candidates: [ObservationToken]) {
        let ended = Set(candidates.filter { !$0.observation.isActive }.map { ObjectIdentifier($0) })
        state.withLock { state in
            state.observations.removeAll { ended.contains(ObjectIdentifier($0)) }
            state.nextPruning = max(32, 2 * state.observations.count)
        }
    }
}

extension ObservationToken {
    /// Adds the observation to a bag, which then owns it.
    public func store(in bag: ObservationBag) { bag.add(self) }
}

extension InterceptionToken {
    /// Adds the interception to a bag, which then owns it.
    public func store(in bag: ObservationBag) { bag.add(self) }
}
