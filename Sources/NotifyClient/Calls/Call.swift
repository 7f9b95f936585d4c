import NIOCore
import NotifyWire

/// A request other than a post or subscription. Its reply consists of the frames from the daemon. Its answer is the
/// value for the caller.
protocol Call: Sendable {
    associatedtype Request: RequestFrame
    associatedtype Answer: Sendable

    var frame: Request { get }
    /// The slot for the answer.
    var slot: ReplySlot<Answer> { get }
    /// Whether to cancel the request when the caller stops waiting. True by default.
    var isCancellable: Bool { get }

    /// Writes the request, and discards the part of a reply that a lost connection has cut off.
    mutating func write(request: UInt64, to buffer: inout ByteBuffer)
    /// Handles a received frame of the reply.
    ///
    /// - Returns: Whether the reply is complete. The slot is then answered.
    mutating func received(_ frame: FrameDecoder.Frame, _ effects: inout Effects) throws(WireError) -> Bool
    /// Handles received messages that the reply announced.
    ///
    /// - Returns: Whether the reply is complete. The slot is then answered.
    mutating func received(_ batch: MessageBatch, _ effects: inout Effects) -> Bool
}

extension Call {
    var isCancellable: Bool { true }

    /// The default for replies that announce no messages.
    mutating func received(_ batch: MessageBatch, _ effects: inout Effects) -> Bool { false }

    /// The slot, without the type of the answer.
    var waiter: any RequestSlot { slot }

    /// The time that the reply may take.
    var replyTime: ReplyTime { frame.replyTime }

    /// The error to report if the connection breaks before the answer arrives.
    var lossError: NotifyError { frame.isChange ? .outcomeUnknown : .connectionLost }

    /// The error to report if the answer does not arrive in time.
    func timeoutError(after limit: Duration) -> NotifyError {
        frame.isChange ? .outcomeUnknown(after: limit) : .timedOut(after: limit)
    }
}

/// A request whose reply, decoded, is its answer.
struct FrameCall<Request: RequestFrame>: Call {
    private(set) var frame: Request
    let slot: ReplySlot<Request.Reply>
    /// Called with the reply so far, after each frame that does not complete it.
    private let onPart: (@Sendable (Request.Reply) -> Void)?
    private var reply: Request.Reply?

    init(_ frame: Request, timeout: Duration? = nil, onPart: (@Sendable (Request.Reply) -> Void)? = nil) {
        self.frame = frame
        slot = ReplySlot(timeout: timeout)
        self.onPart = onPart
    }

    mutating func write(request: UInt64, to buffer: inout ByteBuffer) {
        reply = nil
        frame.request = request
        frame.write(to: &buffer)
    }

    mutating func received(_ frame: FrameDecoder.Frame, _ effects: inout Effects) throws(WireError) -> Bool {
        let isComplete = try Request.Reply.add(frame, to: &reply)
        guard let reply else { return isComplete }
        if isComplete {
            effects.answer(slot, .success(reply))
        } else if let onPart, !slot.isAnswered {
            effects.answers.append { onPart(reply) }
        }
        return isComplete
    }
}
