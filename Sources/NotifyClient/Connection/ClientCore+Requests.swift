import NotifyWire

// The requests of the program. These methods may be called from any thread.
extension ClientCore {
    func submit(_ message: NotifyClient.OutgoingMessage, _ waiter: PostWaiter) {
        process { $0.submit(message, waiter, now: clock.now, &$1) }
    }

    /// Submits posts of a pipeline, taking the lock once for all of them.
    func submit(
        _ messages: some Collection<NotifyClient.OutgoingMessage>, to buffer: PipelineBuffer, from first: UInt64
    ) {
        process { machine, effects in
            var index = first
            for message in messages {
                machine.submit(message, .pipeline(buffer, index: index), now: clock.now, &effects)
                index += 1
            }
        }
    }

    func cancelPost<Value>(_ slot: ReplySlot<Value>) {
        let error = process { machine, _ in machine.cancelPost(slot) }
        slot.answer(.failure(error))
    }

    func call(_ call: Call) {
        process { $0.call(call, now: clock.now, &$1) }
    }

    /// The uid of this client as reported by the daemon; nil before the first connection.
    var uid: UInt32? { process { machine, _ in machine.daemonInfo.uid } }

    func endBackup() {
        process { machine, _ in machine.endBackup() }
    }

    func cancelCall<Value>(_ slot: ReplySlot<Value>) {
        let error = process { machine, _ in machine.cancelCall(slot) }
        slot.answer(.failure(error))
    }

    func subscribe(_ spec: SubscriptionSpec, openWaiter: ReplySlot<Subscribed>) -> (
        number: UInt32, buffer: DeliveryBuffer, ledger: AcknowledgementLedger?
    ) {
        let buffer = DeliveryBuffer(policy: spec.bufferPolicy, limit: spec.limit) { [weak self] in
            self?.bufferChanged($0)
        }
        let ledger =
            spec.isDurable
            ? AcknowledgementLedger(window: spec.requestedWindow, hasHandlers: spec.extendsDeadlines) { [weak self] in
                self?.acknowledgementsPending($0)
            } : nil
        let entry = SubscriptionTable.Entry(spec: spec, buffer: buffer, ledger: ledger, openWaiter: openWaiter)
        let number = process { $0.subscribe(entry, now: clock.now, &$1) }
        return (number, buffer, ledger)
    }

    private func bufferChanged(_ buffer: DeliveryBuffer) {
        process { machine, _ in machine.bufferChanged(buffer, now: clock.now) }
    }

    private func acknowledgementsPending(_ ledger: AcknowledgementLedger) {
        process { machine, _ in machine.acknowledgementsPending(ledger) }
    }

    func leave(_ number: UInt32, _ slot: ReplySlot<Void>?) {
        process { $0.leave(number, slot, now: clock.now, &$1) }
    }
}
