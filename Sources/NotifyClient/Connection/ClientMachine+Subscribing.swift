import Algorithms
import NotifyWire

extension ClientMachine {
    /// Adds a subscription, and requests it if there is a connection. The entry's `openWaiter` gets the outcome.
    ///
    /// - Returns: The subscription's number; 0 if it was refused.
    mutating func subscribe(
        _ entry: SubscriptionTable.Entry, now: Duration, _ effects: inout Effects
    ) -> UInt32 {
        if let refusal = refusal ?? refusal(of: entry.spec) {
            if let openWaiter = entry.openWaiter { effects.answer(openWaiter, .failure(refusal)) }
            effects.deliveries.append((entry.buffer, .end(refusal)))
            return 0
        }
        guard let deadline = beginOpening(entry.openWaiter, now: now, &effects) else { return 0 }
        var entry = entry
        entry.phase = .waiting(deadline: deadline)
        let number = subscriptions.add(entry)
        if connection.isReady {
            requestSubscription(number)
            requestAdded(now: now)
        }
        return number
    }

    /// Refuses a second attachment to a durable subscription. The daemon would treat it as a takeover by the same
    /// client on a new connection, and end the first attachment.
    private func refusal(of spec: SubscriptionSpec) -> NotifyError? {
        guard let name = spec.durableName, subscriptions.hasDurable(name) else { return nil }
        return NotifyError(
            .subscriptionInUse,
            "this client already has the durable subscription \(name) open; leave that one first, or share it")
    }

    mutating func requestSubscription(_ number: UInt32) {
        guard let entry = subscriptions[number], case .waiting = entry.phase else { return }
        // Until the daemon has reported the settings, messages are fetched only for free handlers.
        entry.ledger?.update { $0.handlers?.fetchesAhead = false }
        let credit = subscriptions.update(number) { $0.startCredit() } ?? 0
        let frame = entry.spec.frame(
            request: requests.append(.subscribe(number)), number: number,
            credit: credit, maximumWindow: daemonInfo.maximumWindow,
            namesPatterns: !entry.isEdited, isFirst: entry.lastSequence == nil, mayCreate: !entry.wasChanged)
        frame.write(to: &outgoing)
        _ = subscriptions.update(number) { entry in
            entry.phase = .requested
            entry.wasRequested = true
        }
    }

    /// Attaches again to a durable subscription whose attachment the daemon has ended because of a reset or an edit.
    /// The generation in the answer decides whether the client discards its state. If the subscription was removed
    /// meanwhile, it is not created again.
    mutating func attachAgain(_ number: UInt32, isEdited: Bool) {
        guard let entry = subscriptions[number], entry.phase == .live || entry.phase == .requested else { return }
        router.remove(number: number)
        extender.remove(number)
        entry.ledger?.update { $0.connectionLost() }
        _ = subscriptions.update(number) { entry in
            if entry.phase == .live { entry.lastSequence = entry.lastSequence ?? 0 }
            entry.phase = .waiting(deadline: nil)
            entry.hasExtraCredit = false
            entry.isEdited = entry.isEdited || isEdited
            entry.wasChanged = true
        }
        if connection.isReady { requestSubscription(number) }
    }

    // MARK: Answers

    mutating func subscribed(
        _ frame: Subscribed, now: Duration, _ effects: inout Effects
    ) throws(WireError) {
        guard case .subscribe(let number) = try takeRequest(frame.request), number == frame.subscription else {
            throw .unexpected
        }
        // A subscription that is already being left does not become live.
        guard let entry = subscriptions[number], entry.phase == .requested else { return }
        if let openWaiter = entry.openWaiter { effects.answer(openWaiter, .success(frame)) }
        let attachment = entry.ledger.map { attach($0, to: entry, frame) }
        if let gap = Self.gap(in: entry, frame, attachment) { effects.deliveries.append((entry.buffer, .gap(gap))) }
        if let first = entry.spec.snapshotStart, entry.lastSequence == nil {
            let range = SequenceRange(first: first, last: frame.sequence)
            let reportsEarlier = entry.spec.start.reportsEarlierDeletions
            effects.deliveries.append((entry.buffer, .logSnapshotBegan(range, reportsEarlierDeletions: reportsEarlier)))
        }
        let needsExtraCredit = attachment?.needsExtraCredit ?? false
        if needsExtraCredit { Credit(subscription: number, messages: 1).write(to: &outgoing) }
        _ = subscriptions.update(number) { entry in
            entry.phase = .live
            entry.openWaiter = nil
            entry.wasChanged = false
            entry.hasExtraCredit = needsExtraCredit
        }
        router.add(
            .init(
                number: number, buffer: entry.buffer, acknowledgements: attachment?.acknowledgements,
                after: attachment == nil ? frame.sequence : 0, isCounted: entry.creditLeft != nil),
            spec: entry.spec)
        flow.changed(entry.buffer, now: now)
        topUpCredit(of: number)
        if entry.spec.extendsDeadlines, let name = entry.spec.durableName {
            extender.attached(number, now: now)
            Describe(request: requests.append(.deadline(number)), durableName: name).write(to: &outgoing)
        }
    }

    private struct Attachment {
        var acknowledgements: MessageBatch.Acknowledgements
        var isNewGeneration: Bool
        /// Whether all messages up to the limit were delivered, but not all of their acknowledgements reached the
        /// daemon. One extra credit makes the daemon deliver the unacknowledged messages again.
        var needsExtraCredit: Bool
    }

    private func attach(
        _ ledger: AcknowledgementLedger, to entry: SubscriptionTable.Entry, _ frame: Subscribed
    ) -> Attachment {
        ledger.update { [epoch = daemonInfo.logEpoch] state in
            let isNewGeneration = state.attached(
                cursor: frame.sequence, generation: frame.generation, logEpoch: epoch, isResumed: frame.isResumed)
            return Attachment(
                acknowledgements: .init(ledger: ledger, epoch: state.epoch), isNewGeneration: isNewGeneration,
                needsExtraCredit: entry.creditLeft == 0 && !entry.spec.extendsDeadlines
                    && (state.deliveredThrough > frame.sequence || state.hasUnsent || !state.carriedOver.isEmpty))
        }
    }

    /// The messages that a subscription may have missed since its last attachment.
    private static func gap(
        in entry: SubscriptionTable.Entry, _ frame: Subscribed, _ attachment: Attachment?
    ) -> NotificationClient.Gap? {
        if let attachment { return attachment.isNewGeneration ? .recreated : nil }
        return entry.lastSequence.flatMap { .reconnected(after: $0, at: frame.sequence) }
    }

    // MARK: Deliveries

    /// Updates credit and answers after a delivery to a durable subscription.
    mutating func account(for delivery: DeliveryRouter.DurableDelivery) {
        let number = delivery.number
        switch delivery.disposition {
        case .new:
            _ = subscriptions.update(number) { entry in
                if let left = entry.creditLeft, left > 0 { entry.creditLeft = left - 1 }
                entry.heldByHandlers += 1
            }
        case .acknowledged:
            if let ledger = subscriptions[number]?.ledger, !pendingLedgers.contains(where: { $0 === ledger }) {
                pendingLedgers.append(ledger)
            }
            returnCredit(delivery)
        case .duplicate:
            returnCredit(delivery)
        case .overrun:
            Reject(subscription: number, sequence: delivery.sequence, outcome: .returned).write(to: &outgoing)
            returnCredit(delivery)
        case .stopped:
            // A message that was fetched ahead needs no answer, because the detach gives it back.
            if subscriptions[number]?.ledger?.update({ $0.handlers?.fetchesAhead }) == true { return }
            Reject(
                subscription: number, sequence: delivery.sequence, outcome: .returned, delayMicroseconds: 0, reason: ""
            ).write(to: &outgoing)
        }
        creditReplaced(of: number)
    }

    /// Sends credit for messages that no longer wait for a handler, because a later delivery has replaced them.
    private mutating func creditReplaced(of number: UInt32) {
        guard let entry = subscriptions[number], entry.spec.extendsDeadlines, let ledger = entry.ledger,
            ledger.update({ $0.handlers?.ended ?? 0 }) > 0, !pendingLedgers.contains(where: { $0 === ledger })
        else { return }
        pendingLedgers.append(ledger)
    }

    /// Handles the settings of an attached subscription, as reported by the daemon.
    mutating func settingsReported(_ settings: NotifyWire.DurableSettings, of number: UInt32) {
        guard let entry = subscriptions[number], entry.spec.mayFetchAhead else { return }
        let fetchesAhead =
            settings.sharing == .exclusive && settings.deadlineMicroseconds == 0 && settings.maximumDeliveries == 0
        entry.ledger?.update { $0.handlers?.fetchesAhead = fetchesAhead }
        topUpCredit(of: number)
    }

    /// Gives the daemon credit for the free handlers of an attached subscription.
    private mutating func topUpCredit(of number: UInt32) {
        guard subscriptions[number]?.phase == .live else { return }
        let credit = subscriptions.update(number) { $0.topUpCredit() } ?? 0
        if credit > 0 { Credit(subscription: number, messages: credit).write(to: &outgoing) }
    }

    /// Returns the credit that a repeated delivery used up.
    private mutating func returnCredit(_ delivery: DeliveryRouter.DurableDelivery) {
        guard let entry = subscriptions[delivery.number], entry.creditLeft != nil, let ledger = entry.ledger else {
            return
        }
        if entry.spec.extendsDeadlines {
            _ = subscriptions.update(delivery.number) { $0.creditLeft = max(1, $0.creditLeft ?? 0) - 1 }
            return topUpCredit(of: delivery.number)
        }
        if entry.hasExtraCredit, ledger.update({ $0.deliveredThrough }) <= delivery.sequence {
            _ = subscriptions.update(delivery.number) { $0.hasExtraCredit = false }
            return
        }
        Credit(subscription: delivery.number, messages: 1).write(to: &outgoing)
    }

    // MARK: Answering

    /// Must be called when a ledger has answers to send and had none before.
    mutating func acknowledgementsPending(_ ledger: AcknowledgementLedger) {
        guard connection.isReady || connection.isDraining else { return }
        pendingLedgers.append(ledger)
    }

    /// Handles a new deadline or maximum number of deliveries for an attached subscription. Until the next
    /// attachment, no further message is fetched ahead.
    mutating func deadlineChanged(_ notice: DeadlineNotice, now: Duration) {
        guard let entry = subscriptions[notice.subscription], entry.spec.extendsDeadlines else { return }
        entry.ledger?.update { $0.handlers?.fetchesAhead = false }
        // If there was no deadline before, the extender has no entry for the subscription.
        extender.attached(notice.subscription, now: now)
        extender.deadlineReported(notice.subscription, .microseconds(notice.microseconds), now: now)
    }

    /// Extends the deadlines of messages that have been processed for some time.
    mutating func extendDeadlines(now: Duration) {
        for number in extender.timeReached(now) {
            // An unknown deadline may be much longer than the interval, so nothing is given back yet.
            let givesBack = extender.isKnown(number)
            guard let ledger = subscriptions[number]?.ledger,
                ledger.update({ $0.extendHeld(givingBackLate: givesBack) })
            else { continue }
            acknowledgementsPending(ledger)
        }
    }

    /// Appends all pending answers to `outgoing`.
    mutating func writeAcknowledgements() {
        guard !pendingLedgers.isEmpty else { return }
        let ledgers = pendingLedgers
        pendingLedgers.removeAll(keepingCapacity: true)
        for ledger in ledgers { writeAcknowledgements(of: ledger) }
    }

    mutating func writeAcknowledgements(of ledger: AcknowledgementLedger) {
        let number = ledger.number
        guard number != 0 else { return }
        let answers = ledger.update { $0.takeAnswers() }
        for part in answers.acknowledged.chunks(ofCount: Limits.acknowledgedRangesPerFrame) {
            Acknowledge(subscription: number, ranges: Array(part)).write(to: &outgoing)
        }
        for rejection in answers.rejections {
            Reject(
                subscription: number, sequence: rejection.sequence, outcome: rejection.outcome,
                delayMicroseconds: rejection.delayMicroseconds, delivery: rejection.delivery, reason: rejection.reason
            ).write(to: &outgoing)
        }
        for (microseconds, sequences) in answers.extensions {
            for part in sequences.chunks(ofCount: Limits.acknowledgedRangesPerFrame) {
                Extend(subscription: number, sequences: Array(part), microseconds: microseconds).write(to: &outgoing)
            }
        }
        _ = subscriptions.update(number) { $0.handlersEnded(answers.endedHandlers) }
        topUpCredit(of: number)
    }
}
