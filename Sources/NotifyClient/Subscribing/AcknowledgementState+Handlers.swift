import DequeModule
import NotifyWire

// The handlers of `NotifyClient.work`.
extension AcknowledgementState {
    struct Handlers {
        /// Messages that were delivered and not handed to a handler.
        var waiting: Set<UInt64> = []
        /// The messages whose handlers have ended and for which the daemon has no new credit yet.
        var ended = 0
        /// Whether no further handler starts.
        var isStopping = false
    }

    /// A handler is about to start.
    ///
    /// - Returns: Whether it may start. Otherwise the message was given back.
    mutating func handlerStarts(_ sequence: UInt64) -> Bool {
        guard let handlers, !handlers.isStopping else { return false }
        self.handlers?.waiting.remove(sequence)
        return true
    }

    /// A handler has ended, after the answer to its message.
    ///
    /// - Returns: Whether credit must be sent and nothing else was pending.
    mutating func handlerEnded() -> Bool {
        let hadPending = hasPending
        guard !isClosed, handlers?.isStopping == false else { return false }
        handlers?.ended += 1
        return !hadPending
    }

    /// Takes the number of handlers that have ended since the last call.
    mutating func takeEndedHandlers() -> Int {
        guard let ended = handlers?.ended, ended > 0 else { return 0 }
        handlers?.ended = 0
        return ended
    }

    /// Starts no further handler, and gives back the messages that wait for one, uncounted and without a delay. Those
    /// that are delivered later are given back, too.
    ///
    /// - Returns: Whether this must be sent and nothing else was pending.
    mutating func stopHandlers() -> Bool {
        guard !isClosed, let waiting = handlers?.waiting, handlers?.isStopping == false else { return false }
        let hadPending = hasPending
        handlers = Handlers(isStopping: true)
        for sequence in waiting.sorted() {
            forgetAnswered(sequence)
            if outstanding.removeSorted(sequence) {
                pendingRejections.append(Rejection(sequence: sequence, outcome: .returned, delayMicroseconds: 0))
            } else {
                // The daemon has taken back the messages of the earlier attachment.
                _ = carriedOver.removeSorted(sequence)
            }
        }
        return !hadPending && hasPending
    }
}
