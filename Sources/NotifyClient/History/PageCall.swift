import NIOCore
import NotifyWire

/// A request for a page of the log or of values. The messages of the page follow its header as deliveries.
struct PageCall<Request: RequestFrame>: Call where Request.Reply: PageHeader {
    private(set) var frame: Request
    let slot: ReplySlot<ReceivedPage<Request.Reply>>
    private var page: ReceivedPage<Request.Reply>?

    init(_ frame: Request, timeout: Duration? = nil) {
        self.frame = frame
        slot = ReplySlot(timeout: timeout)
    }

    var isCancellable: Bool { page == nil }

    mutating func write(request: UInt64, to buffer: inout ByteBuffer) {
        page = nil
        frame.request = request
        frame.write(to: &buffer)
    }

    mutating func received(_ frame: FrameDecoder.Frame, _ effects: inout Effects) throws(WireError) -> Bool {
        guard page == nil else { throw .unexpected }
        page = ReceivedPage(try Request.Reply(expecting: frame))
        return answerIfComplete(&effects)
    }

    mutating func received(_ batch: MessageBatch, _ effects: inout Effects) -> Bool {
        page?.append(batch)
        return answerIfComplete(&effects)
    }

    private func answerIfComplete(_ effects: inout Effects) -> Bool {
        guard let page, page.isComplete else { return false }
        effects.answer(slot, .success(page))
        return true
    }
}
