import NotifyWire

// The requests of the program. These methods may be called from any thread.
extension ClientCore {
    func submit(_ message: NotificationClient.OutgoingMessage, _ waiter: PostWaiter) {
        guard !Fork.isChild else {
            waiter.slot?.fail(.forked)
            return
        }
        instruments?.metrics?.posted()
        process { machine, effects in machine.submit(message, waiter, now: clock.now, &effects) }
    }

    /// Waits for the outcome of a post. Cancelling the task cancels the post. A graceful shutdown of the task's service
    /// cancels the post only while the post waits for a connection.
    nonisolated(nonsending) func wait<Value>(for slot: ReplySlot<Value>) async throws(NotifyError) -> Value {
        try await slot.wait {
            self.cancelPost(slot)
        } onGracefulShutdown: {
            self.endWait(slot)
        }
    }

    /// Must be called when the service of the task is shut down. The request fails if it waits for a connection, now or
    /// later.
    func endWait<Value>(_ slot: ReplySlot<Value>) {
        slot.endWait()
        endWaits()
    }

    /// Fails each request that waits for a connection, if the service of its caller is being shut down.
    func endWaits() {
        if Fork.isChild { return }
        process { machine, effects in machine.endWaits(&effects) }
    }

    /// Adds the context of the current trace to a post of a pipeline.
    func withContext(_ message: NotificationClient.OutgoingMessage) -> NotificationClient.OutgoingMessage {
        instruments?.tracing?.withContext(message) ?? message
    }

    /// Must be called when a post of a pipeline was staged. The staged posts are submitted at the next event or, if
    /// there is none, when bytes are written: the first of them causes that.
    func staged(_ result: PipelineBuffer.StagingResult, in buffer: PipelineBuffer) {
        instruments?.metrics?.posted()
        switch result {
        case .first: process { machine, effects in machine.announce(buffer, now: clock.now, &effects) }
        case .added: break
        case .full: process { _, _ in }
        }
    }

    /// Submits posts of a pipeline, taking the lock once for all of them.
    func submit(
        _ messages: some Collection<NotificationClient.OutgoingMessage>, to buffer: PipelineBuffer, from first: UInt64
    ) {
        guard !Fork.isChild else {
            var outcomes = PostOutcomes()
            for index in messages.indices {
                let index = first + UInt64(messages.distance(from: messages.startIndex, to: index))
                outcomes.append(.pipeline(buffer, index: index), .failure(.forked))
            }
            return outcomes.report()
        }
        instruments?.metrics?.posted(messages.count)
        guard let tracing = instruments?.tracing else { return submitAll(messages, to: buffer, from: first) }
        submitAll(messages.map { tracing.withContext($0) }, to: buffer, from: first)
    }

    private func submitAll(
        _ messages: some Collection<NotificationClient.OutgoingMessage>, to buffer: PipelineBuffer, from first: UInt64
    ) {
        process { machine, effects in
            var index = first
            for message in messages {
                machine.submit(message, .pipeline(buffer, index: index), now: clock.now, &effects)
                index += 1
            }
            if let timeout = buffer.timeout { machine.limit(buffer, before: index, until: clock.now + timeout) }
        }
    }

    func cancelPost<Value>(_ slot: ReplySlot<Value>) {
        if Fork.isChild { return slot.fail(.forked) }
        let error = process { machine, _ in machine.cancelPost(slot) }
        slot.answer(.failure(error))
    }

    func call(_ call: some Call) {
        if Fork.isChild { return call.slot.fail(.forked) }
        process { $0.call(call, now: clock.now, &$1) }
    }

    /// Makes a call and waits for its answer. The cancellation of the task cancels the call. A graceful shutdown of the
    /// task's service ends the wait for a connection.
    ///
    /// - Parameter endsOnShutdown: Whether the shutdown also cancels a call that was already sent. True for a call that
    ///   waits for messages, and for a call whose answer is not needed after the shutdown.
    nonisolated(nonsending) func answer<C: Call>(
        to call: C, endsOnShutdown: Bool = false
    ) async throws(NotifyError) -> C.Answer {
        self.call(call)
        return try await answer(of: call, endsOnShutdown: endsOnShutdown)
    }

    /// Waits for the answer of a call that was made, as ``answer(to:endsOnShutdown:)`` does.
    nonisolated(nonsending) func answer<C: Call>(
        of call: C, endsOnShutdown: Bool = false
    ) async throws(NotifyError) -> C.Answer {
        let slot = call.slot
        return try await slot.wait {
            self.cancelCall(slot)
        } onGracefulShutdown: {
            if endsOnShutdown { self.cancelCall(slot) } else { self.endWait(slot) }
        }
    }

    /// Makes a call that changes nothing. If the connection is lost, makes the call again on the next connection.
    ///
    /// - Parameters:
    ///   - deadline: The deadline of all attempts together.
    ///   - endsOnShutdown: As for `answer`.
    ///   - call: Makes the call with a time limit.
    nonisolated(nonsending) func retrying<C: Call>(
        until deadline: RequestDeadline, endsOnShutdown: Bool = false, _ call: (Duration?) -> C
    ) async throws(NotifyError) -> C.Answer {
        while true {
            do throws(NotifyError) {
                return try await answer(to: call(deadline.left), endsOnShutdown: endsOnShutdown)
            } catch {
                guard error.code == .connectionLost, !Task.isCancelled else { throw error }
            }
        }
    }

    func deadline(after timeout: Duration?) -> RequestDeadline { RequestDeadline(after: timeout, clock) }

    /// The uid of this client as reported by the daemon; nil before the first connection.
    var uid: UInt32? { Fork.isChild ? nil : process { machine, _ in machine.daemonInfo.uid } }

    /// The daemon's limit of a payload in bytes, as of the last connection; 1 MiB before the first one.
    var maximumPayloadBytes: Int {
        Fork.isChild ? .max : process { machine, _ in machine.daemonInfo.maximumPayloadBytes }
    }

    /// The version of the daemon, as of the last connection; empty before the first one.
    var daemonVersion: String { Fork.isChild ? "" : process { machine, _ in machine.daemonInfo.daemonVersion } }

    /// The number of connections that were lost after the daemon's welcome.
    var lostConnections: Int { Fork.isChild ? 0 : process { machine, _ in machine.lostConnections } }

    var isConnected: Bool { !Fork.isChild && process { machine, _ in machine.connection.isReady } }

    func endBackup() {
        if Fork.isChild { return }
        process { machine, _ in machine.endBackup() }
    }

    func cancelCall<Value>(_ slot: ReplySlot<Value>) {
        if Fork.isChild { return slot.fail(.forked) }
        let error = process { machine, _ in machine.cancelCall(slot) }
        slot.answer(.failure(error))
    }

    func subscribe(_ spec: SubscriptionSpec, openWaiter: ReplySlot<Subscribed?>) -> (
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
        guard !Fork.isChild else {
            openWaiter.fail(.forked)
            return (0, buffer, ledger)
        }
        let number = process { $0.subscribe(entry, now: clock.now, &$1) }
        return (number, buffer, ledger)
    }

    private func bufferChanged(_ buffer: DeliveryBuffer) {
        if Fork.isChild { return }
        process { machine, _ in machine.bufferChanged(buffer, now: clock.now) }
    }

    private func acknowledgementsPending(_ ledger: AcknowledgementLedger) {
        if Fork.isChild { return }
        process { machine, _ in machine.acknowledgementsPending(ledger) }
    }

    func leave(_ number: UInt32, _ slot: ReplySlot<Void>?) {
        if Fork.isChild {
            slot?.fail(.forked)
            return
        }
        process { $0.leave(number, slot, now: clock.now, &$1) }
    }
}
