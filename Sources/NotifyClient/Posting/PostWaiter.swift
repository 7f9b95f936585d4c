/// The receiver of a post's outcome.
enum PostWaiter: Sendable {
    /// The task that posted the message.
    case task(ReplySlot<NotificationClient.Receipt>)
    /// A pipeline, which keeps the order of its posts.
    case pipeline(PipelineBuffer, index: UInt64)
    /// A task that requested no receipt. It continues once the post is in the write buffer.
    case sender(ReplySlot<Void>)

    var wantsReceipt: Bool {
        if case .sender = self { false } else { true }
    }

    func isTask(_ slot: AnyObject) -> Bool {
        switch self {
        case .task(let mine): mine === slot
        case .sender(let mine): mine === slot
        case .pipeline: false
        }
    }

    func isPost(of buffer: PipelineBuffer, before end: UInt64) -> Bool {
        if case .pipeline(let mine, let index) = self { mine === buffer && index < end } else { false }
    }

    /// The time limit of the post; nil for the client's time limit.
    var timeout: Duration? {
        switch self {
        case .task(let slot): slot.timeout
        case .sender(let slot): slot.timeout
        case .pipeline(let buffer, _): buffer.timeout
        }
    }

    /// Whether the service of the post's task is shut down, so that the post must not wait for a connection any more.
    var isShutDown: Bool {
        switch self {
        case .task(let slot): slot.isShutDown
        case .sender(let slot): slot.isShutDown
        case .pipeline(let buffer, _): buffer.isShutDown
        }
    }

    /// The slot of the task; nil for a pipeline.
    var slot: (any RequestSlot)? {
        switch self {
        case .task(let slot): slot
        case .sender(let slot): slot
        case .pipeline: nil
        }
    }
}

/// The outcomes of posts, reported after the lock is released.
struct PostOutcomes {
    typealias Outcome = Result<NotificationClient.Receipt, NotifyError>

    private(set) var list: [(waiter: PostWaiter, outcome: Outcome)] = []

    mutating func append(_ waiter: PostWaiter, _ outcome: Outcome) {
        list.append((waiter, outcome))
    }

    /// Reports the outcomes. Consecutive outcomes of the same pipeline are reported together.
    func report() {
        var index = 0
        while index < list.count {
            switch list[index].waiter {
            case .task(let slot):
                slot.answer(list[index].outcome)
                index += 1
            case .sender(let slot):
                slot.answer(list[index].outcome.map { _ in })
                index += 1
            case .pipeline(let buffer, _):
                let end = endOfRun(of: buffer, from: index)
                buffer.fill(list[index..<end])
                index = end
            }
        }
    }

    private func endOfRun(of buffer: PipelineBuffer, from start: Int) -> Int {
        var end = start + 1
        while end < list.count, case .pipeline(let other, _) = list[end].waiter, other === buffer { end += 1 }
        return end
    }
}
