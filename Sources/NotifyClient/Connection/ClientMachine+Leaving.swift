import NotifyWire

/// The end of subscriptions.
extension ClientMachine {
    /// Leaves a subscription. `slot` is answered when the daemon has confirmed the detach, or at once if the
    /// subscription waits for a connection. The answer is an error if the connection was lost before acknowledgements
    /// were sent, or if the daemon has not confirmed the detach in time or before the connection was lost.
    mutating func leave(_ number: UInt32, _ slot: ReplySlot<Void>?, now: Duration, _ effects: inout Effects) {
        guard let entry = subscriptions[number] else {
            if let slot { effects.answer(slot, .success(())) }
            return
        }
        if let slot { _ = subscriptions.update(number) { $0.leaveWaiters.append(slot) } }
        switch entry.phase {
        case .waiting:
            finishSubscription(number, nil, leaveResult: Self.leaveResult(entry.ledger), &effects)
            continueShutdown(now: now, &effects)
        case .requested, .live:
            var leaveResult: Result<Void, NotifyError> = .success(())
            if let ledger = entry.ledger {
                writeAcknowledgements(of: ledger)
                leaveResult = Self.leaveResult(ledger)
                ledger.update { $0.close() }
            }
            writeDropReport(of: entry.buffer)
            flow.remove(number)
            extender.remove(number)
            let request = requests.append(.detach(number))
            Detach(request: request, subscription: number).write(to: &outgoing)
            router.remove(number: number)
            effects.deliveries.append((entry.buffer, .end(nil)))
            _ = subscriptions.update(number) { entry in
                entry.phase = .detaching(deadline: now + settings.closingTimeout)
                entry.leaveResult = leaveResult
                if let openWaiter = entry.openWaiter { effects.answer(openWaiter, .failure(.stopped)) }
                entry.openWaiter = nil
            }
        case .detaching:
            break
        }
    }

    private static func leaveResult(_ ledger: AcknowledgementLedger?) -> Result<Void, NotifyError> {
        ledger?.update { $0.hasUnsent } ?? false ? .failure(.acknowledgementsUnsent) : .success(())
    }

    mutating func detached(_ frame: Detached, _ effects: inout Effects) throws(WireError) {
        guard case .detach(let number) = try takeRequest(frame.request) else { throw .unexpected }
        let leaveResult = subscriptions[number]?.leaveResult ?? .success(())
        finishSubscription(number, nil, leaveResult: leaveResult, &effects)
    }

    /// Must be called for each subscription when the connection was lost. A live or requested subscription is requested
    /// again later. A subscription that is being left ends.
    mutating func subscriptionDisconnected(_ number: UInt32, now: Duration, _ effects: inout Effects) {
        guard let entry = subscriptions[number] else { return }
        entry.ledger?.update { $0.connectionLost() }
        switch entry.phase {
        case .live:
            _ = subscriptions.update(number) { entry in
                entry.phase = .waiting(deadline: nil)
                entry.hasExtraCredit = false
            }
        case .requested:
            let isFirst = entry.lastSequence == nil
            _ = subscriptions.update(number) {
                $0.phase = .waiting(deadline: isFirst ? now + settings.connectionWait : nil)
            }
        case .waiting:
            break
        case .detaching:
            // The daemon detaches the subscriptions of a lost connection by itself, but may have missed the last
            // acknowledgements.
            finishSubscription(number, nil, leaveResult: .failure(.detachUnconfirmed(entry.spec)), &effects)
        }
    }

    mutating func expireSubscription(_ number: UInt32, _ error: NotifyError, _ effects: inout Effects) {
        guard let entry = subscriptions[number], entry.isDetaching else {
            return finishSubscription(number, error, leaveResult: .success(()), &effects)
        }
        finishSubscription(number, nil, leaveResult: .failure(.detachUnconfirmed(entry.spec)), &effects)
    }

    /// Removes a subscription and reports its end to the program.
    mutating func finishSubscription(
        _ number: UInt32, _ error: NotifyError?, leaveResult: Result<Void, NotifyError>, _ effects: inout Effects
    ) {
        guard let entry = subscriptions.remove(number) else { return }
        router.remove(number: number)
        flow.remove(number)
        extender.remove(number)
        entry.ledger?.update { $0.close() }
        if let openWaiter = entry.openWaiter { effects.answer(openWaiter, .failure(error ?? .stopped)) }
        effects.deliveries.append((entry.buffer, .end(error)))
        for slot in entry.leaveWaiters { effects.answer(slot, leaveResult) }
    }
}

extension NotifyError {
    fileprivate static func detachUnconfirmed(_ spec: SubscriptionSpec) -> NotifyError {
        NotifyError(
            .outcomeUnknown,
            spec.isDurable
                ? "the daemon did not confirm the detach; the last acknowledged messages may be redelivered"
                : "the daemon did not confirm the end of the subscription; the client has ended it")
    }

    fileprivate static let acknowledgementsUnsent = NotifyError(
        .outcomeUnknown,
        "the connection was lost before the last acknowledgements were sent; their messages may be redelivered")
}
