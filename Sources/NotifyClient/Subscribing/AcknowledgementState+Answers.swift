import DequeModule
import NotifyWire

// Answers other than acknowledgements.
extension AcknowledgementState {
    /// A message to reject or to give back.
    struct Rejection: Equatable {
        var sequence: UInt64
        var outcome = Reject.Outcome.failed
        var delayMicroseconds: UInt64?
        /// The number of the delivery, so that the daemon ignores the answer if it has delivered the message again.
        var delivery: UInt32 = 1
        var reason = ""
    }

    /// Rejects or gives back a message that was delivered in the given `epoch`. Has no effect if the message is
    /// answered, or if a later delivery of it was passed to the consumer.
    ///
    /// - Returns: Whether this answer must be sent and no other was pending.
    mutating func reject(_ rejection: Rejection, delivery: UInt32, epoch: UInt32) -> Bool {
        let sequence = rejection.sequence
        guard !isClosed, epoch == self.epoch, delivery == copies[sequence]?.delivery ?? 1 else { return false }
        if outstanding.removeSorted(sequence) {
            let hadPending = hasPending
            var rejection = rejection
            rejection.delivery = latestDelivery(of: sequence)
            forgetAnswered(sequence)
            pendingRejections.append(rejection)
            return !hadPending
        }
        // The daemon has taken back the messages of the earlier attachment.
        if carriedOver.removeSorted(sequence) { forgetAnswered(sequence) }
        return false
    }

    /// The number of the last delivery of an unanswered message.
    func latestDelivery(of sequence: UInt64) -> UInt32 { copies[sequence]?.latest ?? 1 }

    /// Extends the deadline of a message that was delivered in the given `epoch`, if it is not answered.
    ///
    /// - Parameter microseconds: The time from now to the new deadline; 0 for the deadline of the subscription's
    ///   settings.
    /// - Returns: Whether the extension must be sent and nothing else was pending.
    mutating func extend(_ sequence: UInt64, by microseconds: UInt64, delivery: UInt32, epoch: UInt32) -> Bool {
        guard !isClosed, epoch == self.epoch, delivery == copies[sequence]?.delivery ?? 1,
            outstanding.containsSorted(sequence)
        else { return false }
        let hadPending = hasPending
        pendingExtensions[sequence] = microseconds
        return !hadPending
    }

    /// Extends the deadlines of the messages that the consumer already held at the last call, by the deadline of the
    /// subscription's settings. Most messages are answered between two calls, and need no extension.
    ///
    /// - Parameter givesBack: Whether to give back the messages that were already waiting for a handler at the last
    ///   call. If false, their deadlines are extended, too.
    /// - Returns: Whether there are answers to send and none were pending before.
    mutating func extendHeld(givingBackLate givesBack: Bool = true) -> Bool {
        let hadPending = hasPending
        if givesBack { giveBackLate() }
        for sequence in outstanding {
            guard sequence <= heldThrough else { break }
            if givesBack, isWaitingOnly(sequence) { continue }
            if pendingExtensions[sequence] == nil { pendingExtensions[sequence] = 0 }
        }
        heldThrough = deliveredThrough
        return !hadPending && hasPending
    }

    /// The answers to send.
    struct Answers {
        var acknowledged: [SequenceRange]
        var rejections: [Rejection]
        /// For each new deadline, in microseconds: the sequences of the messages, in ascending order.
        var extensions: [(microseconds: UInt64, sequences: [UInt64])]
        /// The number of messages that no longer need a handler.
        var endedHandlers: Int
    }

    /// Takes all pending answers in one step. An answer is reported as pending only if no other is pending, so an
    /// answer that was added between two steps would not be reported, and never be sent.
    mutating func takeAnswers() -> Answers {
        Answers(
            acknowledged: takePending(), rejections: takeRejections(), extensions: takeExtensions(),
            endedHandlers: takeEndedHandlers())
    }

    mutating func takeRejections() -> [Rejection] {
        defer { pendingRejections.removeAll() }
        return pendingRejections
    }

    mutating func takeExtensions() -> [(microseconds: UInt64, sequences: [UInt64])] {
        guard !pendingExtensions.isEmpty else { return [] }
        defer { pendingExtensions.removeAll(keepingCapacity: true) }
        return Dictionary(grouping: pendingExtensions, by: \.value).sorted { $0.key < $1.key }
            .map { ($0.key, $0.value.map(\.key).sorted()) }
    }
}
