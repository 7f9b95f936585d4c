package import NIOCore

/// The refusal of a request, the end of a subscription, or an error that closes the connection.
package struct ErrorFrame: ControlFrame {
    package static let kind = FrameKind.error
    /// Flag bit 0: the daemon closes the connection after this frame.
    package static let fatalFlag: UInt8 = 1
    /// The detail of `subscriptionChanged` if the patterns have changed.
    package static let editedDetail: UInt64 = 1

    /// The refused request; 0 for none.
    package var request: UInt64
    /// The raw error code, which may be unknown to `ErrorCode`.
    package var code: UInt16
    /// The subscription concerned; 0 for none.
    package var subscription: UInt32
    /// For `subscriptionHeld` and `serviceHeld` the holder's pid, for `unknownFrame` the kind, for `tooSlow` the limit in bytes, for
    /// `subscriptionChanged` ``editedDetail`` if the patterns have changed; otherwise 0.
    package var detail: UInt64
    /// One line to display: the problem and how to fix it.
    package var message: String
    package var isFatal: Bool
    package var flags: UInt8 { isFatal ? Self.fatalFlag : 0 }

    package init(
        request: UInt64 = 0, code: ErrorCode, subscription: UInt32 = 0, detail: UInt64 = 0, message: String,
        isFatal: Bool = false
    ) {
        self.request = request
        self.code = code.rawValue
        self.subscription = subscription
        self.detail = detail
        self.message = message
        self.isFatal = isFatal
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        code = try body.integer()
        try body.skip(2)
        subscription = try body.integer()
        detail = try body.integer()
        message = try body.string(body.remaining)
        isFatal = flags & Self.fatalFlag != 0
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(code)
        buffer.writeLE(UInt16(0))
        buffer.writeLE(subscription)
        buffer.writeLE(detail)
        buffer.writeString(message)
    }
}

/// Announces that the daemon is shutting down. Requests up to `lastRequest` were processed; later ones were not.
package struct Closing: ControlFrame {
    package static let kind = FrameKind.closing

    package var lastRequest: UInt64

    package init(lastRequest: UInt64) {
        self.lastRequest = lastRequest
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        lastRequest = try body.integer()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(lastRequest)
    }
}

/// Asks for a pong with the same request number.
package struct Ping: BareFrame, RequestFrame {
    package typealias Reply = Pong
    package static let kind = FrameKind.ping

    package var request: UInt64

    package init(request: UInt64) {
        self.request = request
    }
}

package struct Pong: BareFrame, ReplyFrame {
    package static let kind = FrameKind.pong

    package var request: UInt64

    package init(request: UInt64) {
        self.request = request
    }
}
