import NotifyCenter
import NotifyWire

/// The failure of a request to a ``NotificationClient``, with a ``code`` to act on and a ``message`` to display.
public struct NotifyError: Error, Sendable, CustomStringConvertible {
    /// The kinds of failure. A `switch` over them needs a default case, because later versions may add kinds.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        // MARK: The connection

        /// No connection was established within ``NotificationClient/Configuration/connectionWait``. Nothing was sent.
        case notConnected
        /// The connection broke before the answer arrived. The request changes nothing, so it can be repeated.
        case connectionLost
        /// The connection broke, the client was stopped, or the time limit passed, before the answer arrived. The
        /// daemon may or may not have processed the request.
        case outcomeUnknown
        /// The daemon did not answer within the time limit, such as
        /// ``NotificationClient/Configuration/requestTimeout``. The request has no effect, because it was not sent, or
        /// because it changes nothing.
        case timedOut
        /// No daemon could be reached at the socket.
        case noDaemon
        /// The path of the socket is empty or longer than 107 bytes.
        case invalidSocketPath
        /// The client was stopped.
        case stopped
        /// The process is the child of a fork. No client works in it, because its threads do not exist there.
        case forked
        /// The task was cancelled, or its service was shut down while the request waited for a connection or for room.
        /// The daemon may have processed a request that was already sent.
        case cancelled
        /// The daemon or, according to the daemon, this client broke the protocol.
        case protocolViolation
        /// Daemon and client have no version of the protocol in common.
        case unsupportedVersion

        // MARK: Invalid requests

        /// A name breaks a rule of `NotificationName`.
        case invalidName
        /// A pattern breaks a rule of `NamePattern`.
        case invalidPattern
        /// An object is longer than 255 bytes.
        case invalidObject
        /// Headers break a rule of ``NotificationClient/Headers``.
        case invalidHeaders
        /// A durable subscription's name does not consist of 1 to 64 letters, digits, `.`, `_` or `-`.
        case invalidSubscriptionName
        /// Another argument is out of its range.
        case invalidArgument
        /// The payload exceeds the daemon's limit. If the client refused it, the error's ``NotifyError/detail`` is the
        /// limit.
        case payloadTooLarge
        /// The daemon does not support the request.
        case unsupported
        /// A value could not be encoded for, or decoded from, a payload. If a message's payload could not be decoded,
        /// the error's ``NotifyError/detail`` is the sequence of the message.
        case coding

        /// A file, such as a backup, could not be written, or already exists.
        case fileNotWritten

        // MARK: Refused by the daemon

        /// This user lacks the permission for the request, or may not open the socket.
        case forbidden
        /// A limit of the daemon is reached. The message names the limit.
        case limitReached
        /// There is no such subscription.
        case unknownSubscription
        /// The durable subscription is already open in this client, cannot be removed because a client is attached to
        /// it, or is being changed while the daemon can't write its log.
        case subscriptionInUse
        /// The durable subscription exists with other patterns, another object or another sharing.
        case subscriptionMismatch
        /// Another client is attached to the durable subscription. The error's ``NotifyError/detail`` is the pid of
        /// that client.
        case subscriptionHeld
        /// Another client took the durable subscription over, or this client attached to it on another connection.
        case takenOver
        /// The durable subscription was reset or edited. A client attaches to it again by itself.
        case subscriptionChanged
        /// The acknowledged or rejected message, or the answered request, was not delivered.
        case notDelivered
        /// The daemon's log, or its disk, is full.
        case logFull
        /// The daemon could not write to its log.
        case storageFailed
        /// The daemon's log is damaged and must be replaced while the daemon is stopped. The message explains how.
        case logDamaged
        /// No message with this sequence is stored, or this user may not read it.
        case unknownMessage
        /// The daemon's configuration has an error, so it was not reloaded.
        case configurationInvalid
        /// No server answers requests of this name. The request was not executed.
        case noResponders
        /// The connection of the server that held the request has ended. The server may have executed the request.
        case serverGone
        /// The time limit of a request to a server has passed. If a server held the request, it may have executed it.
        case requestTimedOut
        /// The server has answered the request with an error. The message is the server's text.
        case requestFailed
        /// A server of another user serves some of the names. The error's ``NotifyError/detail`` is the pid of that
        /// server.
        case serviceHeld
        /// The value does not have the expected sequence. The error's ``NotifyError/detail`` is its sequence, 0 if
        /// there is no value.
        case valueChanged
        /// Another connection has announced the value, or there is a stored value. The error's
        /// ``NotifyError/detail`` is the pid of the process that has announced it, 0 for a stored value.
        case valueInUse
        /// The daemon is shutting down.
        case daemonClosing
        /// The client read too slowly, and its policy for this case is ``NotificationClient/Overflow/disconnect``.
        case tooSlow
        /// The daemon refused the request with a code that this version does not know. The code is the error's
        /// ``NotifyError/detail``.
        case refused
    }

    /// The kind of failure.
    public let code: Code
    /// One line, without a full stop, that describes the problem and, if possible, its solution.
    public let message: String
    /// The error behind this one, if there is one.
    public let cause: (any Error)?
    /// A pid, a limit, a sequence or a code. It has a meaning only for the cases of ``Code`` that mention it.
    public let detail: UInt64?
    /// Whether the daemon refused the request, or the client refused it because of the daemon's payload limit.
    public let isRefusal: Bool

    /// Makes an error, for example in a test.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: One line, without a full stop, that describes the problem.
    ///   - cause: The error behind this one.
    ///   - detail: A pid, a limit, a sequence or a code.
    ///   - isRefusal: Whether the daemon refused the request.
    public init(
        _ code: Code, _ message: String, cause: (any Error)? = nil, detail: UInt64? = nil, isRefusal: Bool = false
    ) {
        self.code = code
        self.message = message
        self.cause = cause
        self.detail = detail
        self.isRefusal = isRefusal
    }

    /// The ``code`` and the ``message``.
    public var description: String { "\(code.rawValue): \(message)" }
}

// MARK: - Shared errors

extension NotifyError {
    static let stopped = NotifyError(.stopped, "the client is stopped; create a new one")
    static let cancelled = NotifyError(.cancelled, "the task was cancelled")
    static let shutDown = NotifyError(
        .cancelled, "the service was shut down while the request waited for a connection; nothing was sent")
    static let cancelledInFlight = NotifyError(
        .cancelled, "the task was cancelled while the request was in flight; it may have been executed")
    static let connectionLost = NotifyError(
        .connectionLost, "the connection to notifyd was lost before the answer; retry the request")
    static let outcomeUnknown = NotifyError(
        .outcomeUnknown,
        "the connection to notifyd was lost before the answer; the request may have been executed")

    static func notConnected(after wait: Duration, lastFailure: NotifyError?) -> NotifyError {
        let reason = lastFailure.map { ": \($0.message)" } ?? ""
        return NotifyError(
            .notConnected, "timed out after \(wait.text) without a connection to notifyd\(reason); nothing was sent",
            cause: lastFailure)
    }

    static func invalidObject(bytes: Int) -> NotifyError {
        NotifyError(.invalidObject, "the object has \(bytes) bytes; at most \(Limits.objectBytes) are allowed")
    }

    static func payloadTooLarge(bytes: Int, limit: Int) -> NotifyError {
        NotifyError(
            .payloadTooLarge,
            "the payload has \(bytes) bytes; this daemon accepts at most \(limit) (limits.payload_bytes)",
            detail: UInt64(limit), isRefusal: true)
    }
}

// MARK: - From the wire

extension NotifyError {
    /// The error that the daemon sent.
    init(_ frame: ErrorFrame) {
        self.init(refusal: frame.code, frame.message, detail: frame.detail)
    }

    /// The error for a refusal by the daemon. If the code is unknown, the error is `refused` and has the code as its
    /// detail.
    init(refusal code: UInt16, _ message: String, detail: UInt64?) {
        let known = ErrorCode(rawValue: code).map(Code.init)
        self.init(known ?? .refused, message, detail: known == nil ? UInt64(code) : detail, isRefusal: true)
    }

    /// The error for an argument that breaks a rule of the protocol, detected by the client.
    init(_ error: WireError) {
        self.init(Code(error.code), error.message, cause: error)
    }

    /// The error for a name or a pattern that breaks a rule.
    init(_ error: NameError) {
        self.init(Code(ErrorCode(error)), error.message, cause: error)
    }

    /// Checks an argument against a rule of the protocol.
    static func checking<Result>(_ body: () throws(WireError) -> Result) throws(NotifyError) -> Result {
        do {
            return try body()
        } catch {
            throw NotifyError(error)
        }
    }

    static func protocolViolation(_ error: WireError) -> NotifyError {
        NotifyError(
            .protocolViolation,
            "notifyd violated the protocol: \(error.message); check that the daemon and the client have the same version",
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
        case .subscriptionChanged: self = .subscriptionChanged
        case .logFull: self = .logFull
        case .storageFailed: self = .storageFailed
        case .unknownMessage: self = .unknownMessage
        case .logDamaged: self = .logDamaged
        case .noResponders: self = .noResponders
        case .serverGone: self = .serverGone
        case .valueChanged: self = .valueChanged
        case .valueInUse: self = .valueInUse
        case .timedOut: self = .requestTimedOut
        case .requestFailed: self = .requestFailed
        case .serviceHeld: self = .serviceHeld
        case .requestCancelled: self = .cancelled
        case .unknownCall: self = .notDelivered
        case .closing: self = .daemonClosing
        case .tooSlow: self = .tooSlow
        case .configurationInvalid: self = .configurationInvalid
        }
    }
}
