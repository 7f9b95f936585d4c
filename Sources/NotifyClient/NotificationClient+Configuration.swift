import NotifyWire

extension NotificationClient {
    /// The settings of a client. The defaults suit most programs.
    public struct Configuration: Sendable {
        /// The path of the daemon's socket: at most 107 bytes, the limit for Unix sockets. If the path is `nil`, each
        /// attempt to connect searches for the socket.
        ///
        /// The sources of the path, in order of precedence: this property; the variable `NOTIFYD_SOCKET`; the first
        /// existing socket of the user's own daemon; the system's `/run/notifyd/notifyd.sock`.
        ///
        /// The user's own daemon listens at `notifyd/notifyd.sock` in `$XDG_RUNTIME_DIR` or `/run/user/UID`, or at
        /// `/tmp/notifyd-UID/notifyd.sock`. The search skips a socket that another user could have put there: each of
        /// these folders and the socket must belong to this user or to root, and no other user may write to the
        /// folders. `$XDG_RUNTIME_DIR` belongs to another user, for example, after `su`. The client's logger logs each
        /// reason once.
        public var socketPath: String?

        /// The time limit for posts and other requests that wait for a connection. After this time, these requests fail
        /// with `notConnected`. 5 seconds by default.
        public var connectionWait = Duration.seconds(5)

        /// The time limit for the answer to a request, once there is a connection. 30 seconds by default.
        ///
        /// A request whose answer does not arrive in time, for example because the daemon is suspended, fails with
        /// `outcomeUnknown`, or with `timedOut` if it was not sent or changes nothing. A late answer is ignored. The
        /// client checks the limit at intervals of an eighth of it, so a request fails at most an eighth later.
        ///
        /// A request that may take long, such as ``NotificationClient/Administration/purge(_:before:)``, does not fail
        /// after this time. Instead, the client pings the daemon until the answer arrives, and the request fails only
        /// if a ping is not answered within the limit. Sequences wait for messages without limit.
        ///
        /// The parameter `timeout` of a method replaces this limit for one request, and includes the wait for a
        /// connection. For no limit, set `.seconds(Int.max)`. The shortest limit is one millisecond: shorter ones, also
        /// zero and negative ones, count as one millisecond.
        public var requestTimeout = Duration.seconds(30)

        /// The shortest and the longest wait between attempts to connect; from 50 milliseconds to 2 seconds by default.
        ///
        /// The first wait, after a connection was lost or the first attempt failed, is the shortest. The wait doubles
        /// with each further failure. Each wait is shortened at random by up to half, so that many clients do not
        /// reconnect at the same time.
        public var backoff = Duration.milliseconds(50)...Duration.seconds(2)

        /// Whether a failure to connect ends the client if it was never connected before, with `noDaemon` if no daemon
        /// listens. By default, the client retries. It always retries if a daemon listens but the backlog of its socket
        /// is full.
        public var requiresFirstConnection = false

        /// The daemon's policy when its buffer for this connection is full of volatile messages.
        public var overflow = Overflow.dropOldest

        /// The time limit for leaving a subscription and for stopping the client. 5 seconds by default.
        public var closingTimeout = Duration.seconds(5)

        /// Called when the client has connected, lost its connection, or failed to connect, but not when the client
        /// ends. The closure runs on the client's event loop, so it must not block.
        public var onConnectionChange: (@Sendable (ConnectionChange) -> Void)?

        /// Called instead of the logger, at each attempt to connect, with the reason why the search has skipped a
        /// socket.
        package var onSkippedSocket: (@Sendable (String) -> Void)?

        /// The source of time and timers; `nil` for the clock of the client's event loop. For tests.
        package var clock: (any ClientClock)?

        /// Makes a configuration with default settings.
        public init(socketPath: String? = nil) {
            self.socketPath = socketPath
        }

        var connectionSettings: ClientConnectionMachine.Settings {
            ClientConnectionMachine.Settings(
                backoff: Backoff(waits: backoff), closingTimeout: closingTimeout,
                requiresFirstConnection: requiresFirstConnection)
        }
    }

    /// The daemon's policy when its buffer for a connection is full of volatile messages.
    public enum Overflow: Hashable, Sendable, CaseIterable {
        /// Drops the oldest messages and reports them in a ``Gap``.
        case dropOldest
        /// Keeps the latest message of each name and object, and reports the dropped messages in a ``Gap``.
        case keepLatest
        /// Closes the connection. The client reconnects, and volatile subscriptions get a ``Gap``.
        case disconnect
    }

    /// A change of the client's connection.
    public enum ConnectionChange: Sendable {
        /// The client has connected to a daemon of this version.
        case connected(daemonVersion: String)
        /// The connection was lost, or an attempt to connect failed. The next attempt follows after `retryIn`.
        case disconnected(NotifyError?, retryIn: Duration)
    }
}

extension OverflowPolicy {
    init(_ overflow: NotificationClient.Overflow) {
        switch overflow {
        case .dropOldest: self = .dropOldest
        case .keepLatest: self = .keepLatest
        case .disconnect: self = .disconnect
        }
    }
}
