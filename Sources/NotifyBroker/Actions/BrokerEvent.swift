package import NotifyWire

/// A level of detail of events for the daemon's log. Events above the current level are not created.
package enum LogDetail: Int, Comparable, Sendable {
    case none
    /// Connections, subscriptions and refusals.
    case debug
    /// In addition, each request and each received frame without an answer.
    case trace

    package static func < (left: LogDetail, right: LogDetail) -> Bool { left.rawValue < right.rawValue }
}

/// An event on a connection, for the daemon's log.
package struct BrokerEvent: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        case connected
        case disconnected
        case subscribed(number: UInt32, patterns: [String], object: String?, durableName: String?)
        case detached(number: UInt32)
        case removed(durableName: String, uid: UInt32)
        /// The policy forbids a request. Reported at a limited rate, and only while the level of detail is below
        /// `debug`: from `debug` on, each refusal is reported as `refused`.
        ///
        /// `omitted` is the number of the user's forbidden requests that were omitted since the last reported one.
        case forbidden(message: String, omitted: Int)
        /// A request or the whole connection was refused.
        case refused(request: UInt64, code: ErrorCode, message: String, isFatal: Bool)
        case posted(request: UInt64, name: String, object: String, payloadBytes: Int, durability: Durability)
        case requested(FrameKind, request: UInt64)
        /// A frame without an answer, such as an acknowledgement.
        case received(FrameKind, subscription: UInt32)
    }

    package var kind: Kind
    package var connection: ConnectionID
    package var uid: UInt32
    package var pid: UInt32

    /// The lowest detail at which the event is reported.
    package var detail: LogDetail {
        switch kind {
        case .forbidden: .none
        case .connected, .disconnected, .subscribed, .detached, .removed, .refused: .debug
        case .posted, .requested, .received: .trace
        }
    }
}
