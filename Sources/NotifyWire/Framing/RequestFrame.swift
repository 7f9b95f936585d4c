package import NIOCore

/// A request that declares its reply.
///
/// The client library sends every such request and collects its reply in one place. A new request needs a frame, and a
/// method of the client that passes the frame on. Posts, subscribes and detaches are not of this type, because their
/// answers change the state of the client.
package protocol RequestFrame: Sendable {
    associatedtype Reply: ReplyFrames
    /// The number that the frames of the reply repeat. The client library sets it when it sends the request.
    var request: UInt64 { get set }
    /// Whether the request changes something, so that its outcome is unknown until the reply arrives. False by default.
    var isChange: Bool { get }
    /// The time that the reply may take; `short` by default.
    var replyTime: ReplyTime { get }
    func write(to buffer: inout ByteBuffer)
    /// Writes a frame that makes the daemon answer at once, because the caller has stopped waiting. Nothing by default.
    func writeCancellation(to buffer: inout ByteBuffer)
}

extension RequestFrame {
    package var isChange: Bool { false }
    package func writeCancellation(to buffer: inout ByteBuffer) {}
    package var replyTime: ReplyTime { .short }
}

extension RequestFrame where Self: BareFrame {
    package init() {
        self.init(request: 0)
    }
}

/// The time that the reply to a request may take.
package enum ReplyTime: Sendable {
    /// The daemon replies soon.
    case short
    /// The daemon may work for long, and answers pings meanwhile.
    case long
    /// The daemon waits for an event.
    case unlimited
}

/// The reply to a request: one frame, or several.
package protocol ReplyFrames: Sendable {
    /// Adds a frame to the received part of the reply.
    ///
    /// - Parameters:
    ///   - frame: A frame that the daemon has sent for the request.
    ///   - received: The reply as far as it was received; nil before the first frame.
    /// - Returns: Whether the reply is complete.
    /// - Throws: `malformedFrame` if the frame does not belong to the reply.
    static func add(_ frame: FrameDecoder.Frame, to received: inout Self?) throws(WireError) -> Bool
}

/// A frame that is the whole reply to a request.
package protocol ReplyFrame: ControlFrame, ReplyFrames {}

extension ReplyFrame {
    package static func add(_ frame: FrameDecoder.Frame, to received: inout Self?) throws(WireError) -> Bool {
        received = try Self(expecting: frame)
        return true
    }
}

/// A list: a frame for each entry, and a ``ListEnd``.
extension Array: ReplyFrames where Element: ControlFrame {
    package static func add(_ frame: FrameDecoder.Frame, to received: inout Self?) throws(WireError) -> Bool {
        if received == nil { received = [] }
        if frame.kind == ListEnd.kind.rawValue { return true }
        received?.append(try Element(expecting: frame))
        return false
    }
}

extension ControlFrame {
    /// Reads a frame that must be of this kind.
    ///
    /// - Throws: `malformedFrame` also for a frame of another kind.
    package init(expecting frame: FrameDecoder.Frame) throws(WireError) {
        guard frame.kind == Self.kind.rawValue else { throw .unexpected }
        try self.init(frame)
    }
}

extension FrameDecoder.Frame {
    /// The number of the request, with which the body of every frame of a reply begins.
    package var replyRequest: UInt64 {
        get throws(WireError) {
            var reader = FieldReader(body)
            return try reader.integer()
        }
    }
}

extension WireError {
    package static let unexpected = WireError(.malformedFrame, "an answer without a pending request")
}
