import DequeModule
import NotifyWire

// The handlers of `NotificationClient.work`.
extension AcknowledgementState {
    struct Handlers {
        /// The messages that were delivered on this attachment and that no handler has taken.
        var waiting: [UInt64: Waiting] = [:]
        /// The number of messages that no longer need a handler, and whose credit the daemon has not got back yet.
        var ended = 0
        /// Whether no further handler starts.
        var isStopping = false
        /// Whether messages are fetched before a handler is free. This harms no other client and counts no failure,
        /// because the subscription is exclusive, has no deadline and does not limit the deliveries. When the
        /// subscription is left, the messages need no answer, because the detach gives them back in order.
        var fetchesAhead = false
    }

    struct Waiting {
        /// The number of the delivery for the handler.
        var delivery: UInt32
        /// Whether a handler may have an earlier delivery of the message. The answer of that handler still counts.
        var hasEarlierHandler = false
        /// Whether the message was already waiting at the last extension of deadlines.
        var isLate = false
    }

    /// The decision about a message that a handler can take now.
    enum HandlerStart {
        /// Start a handler.
        case starts
        /// Skip this copy: the message was given back, or another copy of it follows.
        case skipped
        /// Start no further handler.
        case stopped
    }

    /// Must be called when a handler can take a message that was delivered in the given `epoch`.
    mutating func handlerStarts(_ sequence: UInt64, delivery: UInt32, epoch: UInt32) -> HandlerStart {
        guard let handlers, !handlers.isStopping else { return .stopped }
        guard epoch == self.epoch, handlers.waiting[sequence]?.delivery == delivery else { return .skipped }
        self.handlers?.waiting[sequence] = nil
        return .starts
    }

    /// Must be called when a handler has ended.
    ///
    /// - Returns: Whether credit must be sent and nothing else was pending.
    mutating func handlerEnded() -> Bool {
        let hadPending = hasPending
        guard !isClosed, handlers?.isStopping == false else { return false }
        handlers?.ended += 1
        return !hadPending
    }

    /// Takes the number of messages that no longer need a handler since the last call.
    mutating func takeEndedHandlers() -> Int {
        guard let ended = handlers?.ended, ended > 0 else { return 0 }
        handlers?.ended = 0
        return ended
    }

    /// Lets no further handler start. Messages that wait for a handler are given back without a failure and without a
    /// delay, unless they were fetched ahead. Messages that are delivered later are given back, too.
    ///
    /// - Returns: Whether there are answers to send and none were pending before.
    mutating func stopHandlers() -> Bool {
        guard !isClosed, handlers?.isStopping == false else { return false }
        let hadPending = hasPending
        let fetchesAhead = handlers?.fetchesAhead ?? false
        if !fetchesAhead { giveBackWaiting(after: 0) { _ in true } }
        handlers = Handlers(isStopping: true, fetchesAhead: fetchesAhead)
        return !hadPending && hasPending
    }
}

// MARK: - Waiting

extension AcknowledgementState {
    /// Adds a delivered message that waits for a handler. Replaces an earlier waiting delivery of the message.
    ///
    /// - Parameter isAgain: Whether an earlier delivery of the message is not answered.
    mutating func wait(_ sequence: UInt64, _ delivery: UInt32, isAgain: Bool = false) {
        guard handlers != nil else { return }
        let hasEarlierHandler = handlers?.waiting[sequence]?.hasEarlierHandler ?? isAgain
        stopWaiting(sequence)
        handlers?.waiting[sequence] = Waiting(delivery: delivery, hasEarlierHandler: hasEarlierHandler)
    }

    /// Removes a message that no longer waits for a handler.
    mutating func stopWaiting(_ sequence: UInt64) {
        if handlers?.waiting.removeValue(forKey: sequence) != nil { handlers?.ended += 1 }
    }

    /// Gives back the messages that were already waiting for a handler at the last extension of deadlines, so that
    /// another member can process them before their deadlines pass. More messages may be delivered than handlers are
    /// free: after a lost connection, handlers still run for messages that the daemon delivers to other members.
    mutating func giveBackLate() {
        guard handlers?.waiting.isEmpty == false else { return }
        giveBackWaiting(after: nil) { $0.isLate }
        for sequence in handlers?.waiting.keys.sorted() ?? [] { handlers?.waiting[sequence]?.isLate = true }
    }

    private mutating func giveBackWaiting(after delayMicroseconds: UInt64?, where isReturned: (Waiting) -> Bool) {
        for (sequence, waiting) in handlers?.waiting.sorted(by: { $0.key < $1.key }) ?? []
        where isReturned(waiting) && !waiting.hasEarlierHandler && outstanding.removeSorted(sequence) {
            let delivery = latestDelivery(of: sequence)
            forgetAnswered(sequence)
            pendingRejections.append(
                Rejection(
                    sequence: sequence, outcome: .returned, delayMicroseconds: delayMicroseconds, delivery: delivery))
        }
    }

    /// Forgets the messages that wait for a handler when the connection is lost. The daemon has taken these messages
    /// back, and delivers them again.
    mutating func forgetWaiting() {
        for sequence in handlers?.waiting.keys.sorted() ?? [] where isWaitingOnly(sequence) {
            _ = outstanding.removeSorted(sequence)
            forgetAnswered(sequence)
        }
    }

    /// Whether a message waits for a handler and no handler may have an earlier delivery of it.
    func isWaitingOnly(_ sequence: UInt64) -> Bool {
        handlers?.waiting[sequence].map { !$0.hasEarlierHandler } ?? false
    }
}
