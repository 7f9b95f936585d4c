/// Who learns what became of a post.
enum PostWaiter: Sendable {
    /// The task that posted it.
    case task(ReplySlot<NotifyClient.Receipt>)
    /// A pipeline, which keeps the order of its posts.
    case pipeline(PipelineBuffer, index: UInt64)
    /// A task that wants no receipt, and goes on once the post is on its way.
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
}

/// What became of posts, to be told once no lock is held.
struct PostOutcomes {
    typealias Outcome = Result<NotifyClient.Receipt, NotifyError>

    private(set) var list: [(waiter: PostWaiter, outcome: Outcome)] = []

    mutating func append(_ waiter: PostWaiter, _ outcome: Outcome) {
        list.append((waiter, outcome))
    }

    /// Tells them. Outcomes of one pipeline that stand together are told together.
    func tell() {
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
