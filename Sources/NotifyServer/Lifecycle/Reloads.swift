import Synchronization

/// The outcome of reading the configuration again.
package enum ReloadOutcome: Sendable, Equatable {
    /// The configuration is in effect, except for these changed settings, which wait for the next start.
    case applied(pendingSettings: [String])
    /// The configuration has an error, and nothing has changed.
    case invalid(String)
    /// The configuration was not read: too many reloads are pending.
    case refused(String)
}

/// The connection between the running server and the ``ConfigurationReloader``: passes requests to the reloader, and
/// new configurations to the server.
package final class Reloads: Sendable {
    typealias Reply = @Sendable (ReloadOutcome) -> Void

    /// The maximum number of pending reloads, which is more than operators request at the same time.
    private static let maximumPending = 64

    private struct State {
        var action: (@Sendable (ServerConfiguration?) -> Void)?
        /// The last valid configuration that was reloaded before the action was set.
        var waiting: ServerConfiguration?
        var problem: String?
    }

    private let state = Mutex(State())
    /// The requested reloads, each with its reply if one is expected.
    let requests: AsyncStream<Reply?>
    private let continuation: AsyncStream<Reply?>.Continuation

    package init() {
        (requests, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.maximumPending))
    }

    /// Requests a reload.
    ///
    /// - Parameter reply: Called with the outcome, on any thread.
    func request(_ reply: Reply? = nil) {
        guard case .dropped = continuation.yield(reply) else { return }
        reply?(.refused("\(Self.maximumPending) reloads are pending: try again later"))
    }

    /// Sets the action that applies a new configuration. The action is called with `nil` if the new configuration is
    /// invalid. If a configuration was reloaded while the server started, the action is called with it at once.
    func set(_ action: (@Sendable (ServerConfiguration?) -> Void)?) {
        let waiting = state.withLock { state in
            state.action = action
            defer { state.waiting = nil }
            return state.waiting
        }
        if let waiting { action?(waiting) }
    }

    /// Why the last reload has failed; `nil` if it succeeded.
    var problem: String? { state.withLock(\.problem) }

    /// Runs the action after a reload.
    ///
    /// - Parameters:
    ///   - configuration: The new configuration; `nil` if it is invalid.
    ///   - problem: Why the configuration is invalid.
    func reloaded(_ configuration: ServerConfiguration?, problem: String? = nil) {
        let action = state.withLock { state in
            state.problem = problem
            if state.action == nil, let configuration { state.waiting = configuration }
            return state.action
        }
        action?(configuration)
    }
}
