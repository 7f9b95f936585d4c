import NIOCore

/// The loss of the connection.
extension ClientMachine {
    mutating func disconnected(
        _ error: NotifyError?, now: Duration, jitter: Double, _ effects: inout Effects
    ) {
        perform(connection.disconnected(error, now: now, jitter: jitter), now: now, &effects)
    }

    mutating func perform(
        _ action: ClientConnectionMachine.DisconnectAction, now: Duration, _ effects: inout Effects
    ) {
        switch action {
        case .none: break
        case .retry(let moment):
            effects.isConnectionLost = isConnectionOpen
            discardConnection(now: now, &effects)
            effects.changes.append(.disconnected(connection.lastFailure, retryIn: moment - now))
            continueShutdown(now: now, &effects)
        case .end(let error):
            discardConnection(now: now, &effects)
            end(error, &effects)
        }
    }

    /// Fails or requeues the pending requests of the lost connection. Subscriptions remain, except those that are being
    /// left. Waiting requests remain, except those of services that are being shut down.
    mutating func discardConnection(now: Duration, _ effects: inout Effects) {
        if isConnectionOpen { lostConnections += 1 }
        isConnectionOpen = false
        outgoing.clear()
        pendingLedgers.removeAll()
        flow = FlowControl()
        extender = DeadlineExtender()
        timeouts.restart()
        probing = .none
        router.removeAll { number, last in
            _ = subscriptions.update(number) { $0.lastSequence = last }
        }
        var unprocessed: [(message: NotificationClient.OutgoingMessage, waiter: PostWaiter)] = []
        for (request, entry) in requests.takeAll() {
            let isUnprocessed = connection.lastProcessed.map { request > $0 } ?? false
            switch entry {
            case .post(let message, let waiter) where isUnprocessed: unprocessed.append((message, waiter))
            case .post(_, let waiter): effects.outcomes.append(waiter, .failure(.outcomeUnknown))
            case .call(let call) where isUnprocessed && !call.waiter.isAnswered:
                waitingCalls.append((call, now + settings.connectionWait))
            case .call(let call): effects.fail(call, call.lossError)
            case .announce(let number, let content, let slot?): updateLost(number, content, slot, &effects)
            case .announce, .subscribe, .detach, .serve, .endServing, .deadline, .abandonedPost, .probe, .finalPing:
                break
            }
        }
        posts.connectionLost(unprocessed: unprocessed, deadline: now + settings.connectionWait)
        endWaits(&effects)
        for number in subscriptions.numbers { subscriptionDisconnected(number, now: now, &effects) }
        for number in servers.numbers { serverDisconnected(number, now: now, &effects) }
        for number in announcements.numbers { announcementDisconnected(number, now: now) }
    }

    /// Ends the client, and answers all waiting callers.
    mutating func end(_ error: NotifyError?, _ effects: inout Effects) {
        let reason = error ?? .stopped
        for waiter in posts.takeAll() { effects.outcomes.append(waiter, .failure(reason)) }
        for (call, _) in waitingCalls { effects.fail(call, reason) }
        waitingCalls.removeAll()
        for number in subscriptions.numbers { finishSubscription(number, error, leaveResult: .success(()), &effects) }
        for number in servers.numbers { finishServer(number, error, &effects) }
        for number in announcements.numbers { finishAnnouncement(number, error, &effects) }
        for waiter in endWaiters + serviceWaiters {
            effects.answer(waiter, error.map { .failure($0) } ?? .success(()))
        }
        endWaiters.removeAll()
        serviceWaiters.removeAll()
    }
}
