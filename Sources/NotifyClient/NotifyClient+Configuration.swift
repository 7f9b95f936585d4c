import NotifyWire

extension NotifyClient {
    /// What can be chosen about a client. The defaults suit most programs.
    public struct Configuration: Sendable {
        /// The daemon's socket; `nil` to look for it as ``NotifyClient/socketPath(explicit:environment:)`` describes, at
        /// every attempt to connect.
        public var socketPath: String?

        /// How long posts and other requests wait for a connection before they fail with `notConnected`.
        public var connectionWait = Duration.seconds(5)

        /// How long to wait between attempts to connect.
        public var backoff = Backoff()

        /// Whether the client ends with `noDaemon` if the first attempt to connect fails. Otherwise it tries on, as it
        /// does where a daemon is there and only the queue of its socket is full.
        public var requiresFirstConnection = false

        /// What the daemon does when volatile messages for this client outgrow what it keeps for it.
        public var overflow = Overflow.dropOldest

        /// How long leaving a subscription, or stopping the client, may take at most.
        public var closingTimeout = Duration.seconds(5)

        /// Called when a connection comes or goes, on the thread that serves it: return at once.
        public var onConnectionChange: (@Sendable (ConnectionChange) -> Void)?

        /// The defaults.
        public init(socketPath: String? = nil) {
            self.socketPath = socketPath
        }

        var linkSettings: ClientConnectionMachine.Settings {
            ClientConnectionMachine.Settings(
                backoff: backoff, closingTimeout: closingTimeout, requiresFirstConnection: requiresFirstConnection)
        }
    }

    /// What the daemon does when it has more volatile messages for a connection than it keeps for it.
    public enum Overflow: Hashable, Sendable, CaseIterable {
        /// Drops the oldest, and says so in a ``Gap``.
        case dropOldest
        /// Keeps the latest message of each name and object, and says in a ``Gap`` how many it dropped.
        case keepLatest
        /// Closes the connection. The client connects again, and subscriptions get a ``Gap``.
        case disconnect
    }

    /// A connection came or went.
    public enum ConnectionChange: Sendable {
        /// There is a connection to a daemon of this version.
        case connected(daemonVersion: String)
        /// The connection was lost, or an attempt failed; the next one follows after the wait.
        case disconnected(NotifyError?, retryIn: Duration)
    }
}

extension OverflowPolicy {
    init(_ overflow: NotifyClient.Overflow) {
        switch overflow {
        case .dropOldest: self = .dropOldest
        case .keepLatest: self = .keepLatest
        case .disconnect: self = .disconnect
        }
    }
}
