import NotifyWire

/// Why something asked of a ``NotifyClient`` could not be done: a ``code`` for programs, a ``message`` for people.
public struct NotifyError: Error, Sendable, CustomStringConvertible {
    /// What went wrong. Switch over it with a default: later versions may know more.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        // MARK: The connection

        /// There is no connection, and none came within ``NotifyClient/Configuration/connectionWait``. Nothing was sent.
        case notConnected
        /// The connection broke before the answer came. What was asked changes nothing, so ask again.
        case connectionLost
        /// The connection broke before the answer came. It is not known whether the request was carried out.
        case outcomeUnknown
        /// The first connection was required and no daemon answered.
        case noDaemon
        /// The socket's path is too long or otherwise no path to a socket.
        case invalidSocketPath
        /// The client was stopped.
        case stopped
        /// The task was cancelled. A post that was under way may have been carried out.
        case cancelled
        /// The daemon's answer breaks the protocol.
        case protocolViolation
        /// Daemon and client have no version of the protocol in common.
        case unsupportedVersion

        // MARK: The request is wrong as it stands

        /// A name breaks a rule of `NotificationName`.
        case invalidName
        /// A pattern breaks a rule of `NamePattern`.
        case invalidPattern
        /// An object is longer than 255 bytes.
        case invalidObject
        /// Headers break a rule of ``NotifyClient/Headers``.
        case invalidHeaders
        /// A durable subscription's name is not 1 to 64 of letters, digits, `.`, `_` and `-`.
        case invalidSubscriptionName
        /// Another argument is out of its range.
        case invalidArgument
        /// The payload is over the daemon's limit, which is the error's ``NotifyError/detail``.
        case payloadTooLarge
        /// The daemon does not know how to do this.
        case unsupported
        /// A value could not be encoded for, or decoded from, a payload.
        case coding

        // MARK: Refused by the daemon

        /// This user may not do this.
        case forbidden
        /// A limit of the daemon is reached, named in the message.
        case limitReached
        /// There is no such subscription.
        case unknownSubscription
        /// The subscription is already open on this connection.
        case subscriptionInUse
        /// The durable subscription has other patterns, or another object.
        case subscriptionMismatch
        /// Another client holds the durable subscription; its pid is the error's ``NotifyError/detail``.
        case subscriptionHeld
        /// The durable subscription was taken over.
        case takenOver
        /// A message was acknowledged that had not been delivered.
        case notDelivered
        /// The log is full.
        case logFull
        /// The daemon could not write to its log.
        case storageFailed
        /// The daemon is going down.
        case daemonClosing
        /// The connection did not keep up, and asked to be closed rather than to miss messages.
        case tooSlow
        /// The daemon refused with a code that this version does not know; it is the error's ``NotifyError/detail``.
        case refused
    }

    /// What went wrong.
    public let code: Code
    /// One line without a full stop: what is wrong and, where there is something to do, what.
    public let message: String
    /// The error behind this one, if there is one.
    public let cause: (any Error)?
    /// A number that goes with the code, where ``Code`` says so: a pid, or a limit.
    public let detail: UInt64?
    /// Whether it was the daemon that said no.
    public let isRefusal: Bool

    init(
        _ code: Code, _ message: String, cause: (any Error)? = nil, detail: UInt64? = nil, isRefusal: Bool = false
    ) {
        self.code = code
        self.message = message
        self.cause = cause
        self.detail = detail
        self.isRefusal = isRefusal
    }

    /// The ``message``.
    public var description: String { message }
}

// MARK: - Errors that several places give

extension NotifyError {
    static let stopped = NotifyError(.stopped, "the client is stopped; make another one")
    static let cancelled = NotifyError(.cancelled, "the task was cancelled")
    static let cancelledUnderWay = NotifyError(
        .cancelled, "the task was cancelled while the request was under way; it may have been carried out")
    static let connectionLost = NotifyError(
        .connectionLost, "the connection to notifyd broke before the answer came; ask again")
    static let outcomeUnknown = NotifyError(
        .outcomeUnknown,
        "the connection to notifyd broke before the answer came; whether the request was carried out is not known")

    static func notConnected(after wait: Duration, lastFailure: NotifyError?) -> NotifyError {
        let reason = lastFailure.map { ": \($0.message)" } ?? ""
        return NotifyError(
            .notConnected, "no connection to notifyd within \(wait)\(reason); nothing was sent", cause: lastFailure)
    }

    static func invalidObject(bytes: Int) -> NotifyError {
        NotifyError(.invalidObject, "the object has \(bytes) bytes; at most \(Limits.objectBytes) are allowed")
    }

    static func payloadTooLarge(bytes: Int, limit: Int) -> NotifyError {
        NotifyError(
            .payloadTooLarge, "the payload has \(bytes) bytes; this daemon takes at most \(limit)",
            detail: UInt64(limit), isRefusal: true)
    }
}

// MARK: - From the wire

extension NotifyError {
    /// What the daemon said.
    init(_ frame: ErrorFrame) {
        let code = ErrorCode(rawValue: frame.code).map(Code.init)
        self.init(
            code ?? .refused, frame.message, detail: code == nil ? UInt64(frame.code) : frame.detail, isRefusal: true)
    }

    /// What the local copy of the daemon's rules said.
    init(_ error: WireError) {
        self.init(Code(error.code), error.message, cause: error)
    }

    static func protocolViolation(_ error: WireError) -> NotifyError {
        NotifyError(
            .protocolViolation, "what notifyd sent breaks the protocol: \(error.message); are both of one version?",
            cause: error)
    }
}

extension NotifyError.Code {
    init(_ code: ErrorCode) {
        switch code {
        case .malformedFrame, .frameTooLarge, .unknownFrame, .greetingExpected, .greetingTimeout, .postWindowExceeded:
            self = .protocolViolation
        case .unsupportedVersion: self = .unsupportedVersion
        case .invalidName: self = .invalidName
        case .invalidPattern: self = .invalidPattern
        case .invalidObject: self = .invalidObject
        case .invalidHeaders: self = .invalidHeaders
        case .invalidSubscriptionName: self = .invalidSubscriptionName
        case .invalidArgument: self = .invalidArgument
        case .payloadTooLarge: self = .payloadTooLarge
        case .unsupported: self = .unsupported
        case .forbidden: self = .forbidden
        case .limitReached: self = .limitReached
        case .unknownSubscription: self = .unknownSubscription
        case .subscriptionInUse: self = .subscriptionInUse
        case .subscriptionMismatch: self = .subscriptionMismatch
        case .subscriptionHeld: self = .subscriptionHeld
        case .takenOver: self = .takenOver
        case .notDelivered: self = .notDelivered
        case .logFull: self = .logFull
        case .storageFailed: self = .storageFailed
        case .closing: self = .daemonClosing
        case .tooSlow: self = .tooSlow
        }
    }
}
