/// The state of the client's connection. A pure state machine: events return actions, and time is an argument.
struct ClientConnectionMachine: ~Copyable {
    private enum State {
        case idle
        case connecting(failures: Int)
        /// Connected; the daemon's welcome has not arrived yet.
        case greeting(failures: Int, deadline: Duration)
        case ready
        /// The daemon has announced its shutdown.
        case leaving(deadline: Duration)
        /// Waiting before the next attempt to connect.
        case waiting(failures: Int, until: Duration)
        /// The client is stopping: no new requests are accepted, and pending ones may complete.
        case draining(deadline: Duration)
        /// The channel is being closed.
        case closing(NextStep)
        case stopped(NotifyError?)
    }

    private enum NextStep {
        case retry(failures: Int)
        case stop(NotifyError?)
    }

    private let settings: Settings
    private var state = State.idle
    private var wasEverReady = false
    /// The error of the last failed attempt to connect, or of the last lost connection; nil while there is a
    /// connection.
    private(set) var lastFailure: NotifyError?
    /// The last request that the daemon processed, once it has announced its shutdown.
    private(set) var lastProcessed: UInt64?

    init(_ settings: Settings) {
        self.settings = settings
    }

    /// Whether requests may be sent.
    var isReady: Bool {
        if case .ready = state { true } else { false }
    }

    /// Whether the client was not started yet.
    var isIdle: Bool {
        if case .idle = state { true } else { false }
    }

    var isDraining: Bool {
        if case .draining = state { true } else { false }
    }

    /// Whether new requests are refused.
    var isEnding: Bool {
        switch state {
        case .draining, .stopped, .closing(.stop): true
        default: false
        }
    }

    /// Whether received bytes are discarded.
    var discardsInput: Bool {
        switch state {
        case .closing, .stopped: true
        default: false
        }
    }

    /// The error that ended the client, if any; the outer optional is nil until the client has ended.
    var stopped: NotifyError?? {
        if case .stopped(let error) = state { .some(error) } else { nil }
    }

    /// The time at which to call `timeReached`; nil for never.
    var deadline: Duration? {
        switch state {
        case .greeting(_, let deadline), .leaving(let deadline), .draining(let deadline): deadline
        case .waiting(_, let until): until
        case .idle, .connecting, .ready, .closing, .stopped: nil
        }
    }

    /// An action for the channel.
    enum CloseAction: Equatable { case close, none }
}

// MARK: - Connecting

extension ClientConnectionMachine {
    enum StartAction: Equatable { case connect, none }

    mutating func start() -> StartAction {
        guard case .idle = state else { return .none }
        return beginConnecting(failures: 0)
    }

    private mutating func beginConnecting(failures: Int) -> StartAction {
        state = .connecting(failures: failures)
        lastProcessed = nil
        return .connect
    }

    enum ConnectedAction: Equatable { case greet, close }

    mutating func connected(now: Duration) -> ConnectedAction {
        guard case .connecting(let failures) = state else { return .close }
        state = .greeting(failures: failures, deadline: now + settings.greetingTimeout)
        return .greet
    }

    enum DisconnectAction {
        case retry(at: Duration)
        case end(NotifyError?)
        case none
    }

    /// - Parameter queueIsFull: Whether a daemon listens, but the backlog of its socket is full. If so, the client
    ///   always retries.
    mutating func connectFailed(
        _ error: NotifyError, queueIsFull: Bool = false, now: Duration, jitter: Double
    ) -> DisconnectAction {
        guard case .connecting(let failures) = state else { return .none }
        guard queueIsFull else { return failed(error, failures: failures, now: now, jitter: jitter) }
        lastFailure = error
        return retry(failures: failures + 1, now: now, jitter: jitter)
    }

    private func isFinal(_ error: NotifyError) -> Bool {
        error.code.isFatalToClient || (settings.requiresFirstConnection && !wasEverReady)
    }

    private mutating func failed(
        _ error: NotifyError, failures: Int, now: Duration, jitter: Double
    ) -> DisconnectAction {
        lastFailure = error
        return isFinal(error) ? end(error) : retry(failures: failures + 1, now: now, jitter: jitter)
    }

    private mutating func end(_ error: NotifyError?) -> DisconnectAction {
        state = .stopped(error)
        return .end(error)
    }

    private mutating func retry(failures: Int, now: Duration, jitter: Double) -> DisconnectAction {
        let moment = now + settings.backoff.delay(failures: failures, jitter: jitter)
        state = .waiting(failures: failures, until: moment)
        return .retry(at: moment)
    }

    enum WelcomeAction: Equatable { case open, close, none }

    mutating func welcomed() -> WelcomeAction {
        switch state {
        case .greeting:
            state = .ready
            wasEverReady = true
            lastFailure = nil
            return .open
        case .ready, .draining:
            _ = protocolViolated(
                NotifyError(
                    .protocolViolation,
                    "the daemon sent a second welcome; check that the daemon and the client have the same version"))
            return .close
        case .idle, .connecting, .waiting, .stopped, .closing, .leaving:
            return .none
        }
    }
}

// MARK: - The connection's end

extension ClientConnectionMachine {
    /// Handles a fatal error that the daemon has sent, or the client has found. The caller closes the channel.
    mutating func fatalErrorReceived(_ error: NotifyError) {
        switch state {
        case .greeting(let failures, _):
            lastFailure = error
            state = .closing(isFinal(error) ? .stop(error) : .retry(failures: failures + 1))
        case .ready, .leaving:
            lastFailure = error
            state = .closing(error.code.isFatalToClient ? .stop(error) : .retry(failures: 1))
        case .draining:
            state = .closing(.stop(nil))
        case .idle, .connecting, .waiting, .closing, .stopped:
            break
        }
    }

    /// Handles received bytes that violate the protocol.
    mutating func protocolViolated(_ error: NotifyError) -> CloseAction {
        switch state {
        case .greeting, .ready, .leaving, .draining:
            fatalErrorReceived(error)
            return .close
        case .idle, .connecting, .waiting, .closing, .stopped:
            return .none
        }
    }

    mutating func closingReceived(lastRequest: UInt64, now: Duration) {
        switch state {
        case .greeting, .ready:
            lastProcessed = lastRequest
            state = .leaving(deadline: now + settings.closingTimeout)
        case .draining:
            lastProcessed = lastRequest
        case .idle, .connecting, .waiting, .leaving, .closing, .stopped:
            break
        }
    }

    /// Handles the end of the channel. `error` is the cause; nil if it is unknown.
    mutating func disconnected(_ error: NotifyError?, now: Duration, jitter: Double) -> DisconnectAction {
        switch state {
        case .idle, .connecting, .waiting, .stopped:
            return .none
        case .greeting(let failures, _):
            let error =
                error
                ?? NotifyError(
                    .notConnected,
                    "the connection was closed before the welcome; check that notifyd listens on this socket")
            return failed(error, failures: failures, now: now, jitter: jitter)
        case .ready, .leaving:
            lastFailure = error ?? NotifyError(.connectionLost, "the daemon closed the connection")
            return retry(failures: 0, now: now, jitter: jitter)
        case .closing(.retry(let failures)):
            return retry(failures: failures, now: now, jitter: jitter)
        case .closing(.stop(let reason)):
            return end(reason)
        case .draining:
            return end(nil)
        }
    }

    enum TimeAction: Equatable { case connect, close, none }

    mutating func timeReached(_ now: Duration) -> TimeAction {
        guard let deadline, deadline <= now else { return .none }
        switch state {
        case .waiting(let failures, _):
            _ = beginConnecting(failures: failures)
            return .connect
        case .greeting:
            fatalErrorReceived(
                NotifyError(
                    .notConnected,
                    "timed out waiting for the welcome; check that notifyd listens on this socket and responds"))
            return .close
        case .leaving:
            state = .closing(.retry(failures: 0))
            return .close
        case .draining:
            state = .closing(.stop(nil))
            return .close
        case .idle, .connecting, .ready, .closing, .stopped:
            return .none
        }
    }
}

// MARK: - Stopping

extension ClientConnectionMachine {
    enum StopAction: Equatable { case drain, close, end, none }

    /// Ends the connection by the deadline, and does not reconnect.
    mutating func stop(deadline: Duration) -> StopAction {
        switch state {
        case .ready:
            state = .draining(deadline: deadline)
            return .drain
        case .greeting, .leaving, .closing(.retry):
            state = .closing(.stop(nil))
            return .close
        case .idle, .connecting, .waiting:
            state = .stopped(nil)
            return .end
        case .draining, .closing(.stop), .stopped:
            return .none
        }
    }

    /// Must be called when all requests have been answered, including those that were sent at the stop.
    mutating func drained() -> CloseAction {
        guard case .draining = state else { return .none }
        state = .closing(.stop(nil))
        return .close
    }
}

extension NotifyError.Code {
    /// Whether the error ends the client, because reconnecting cannot succeed.
    fileprivate var isFatalToClient: Bool {
        switch self {
        case .unsupportedVersion, .forbidden, .invalidSocketPath: true
        default: false
        }
    }
}
