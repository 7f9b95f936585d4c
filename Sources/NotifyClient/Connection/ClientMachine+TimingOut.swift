import NotifyWire

/// Requests that the daemon does not answer within their time limit, for example because the daemon is suspended.
///
/// The caller gets an error. The request stays in the table, so that a late answer is recognized and ignored.
extension ClientMachine {
    /// Must be called when a request was sent on the connection, or a post waits for room.
    mutating func requestAdded(now: @autoclosure () -> Duration) {
        timeouts.added(request: requests.nextRequest, place: posts.nextPlace, now: now())
    }

    mutating func timeOutRequests(now: Duration, _ effects: inout Effects) {
        for expired in timeouts.takeExpired(now) {
            switch expired {
            case .request(let slot): timeOut(slot, &effects)
            case .posts(let buffer, let end): timeOutPosts(of: buffer, before: end, &effects)
            }
        }
        let mark = timeouts.timeReached(
            now, request: requests.nextRequest, place: posts.nextPlace, isWaiting: !posts.isEmpty)
        if let mark {
            let error = NotifyError.timedOut(after: timeouts.limit)
            for waiter in posts.expire(before: mark.place) { effects.outcomes.append(waiter, .failure(error)) }
            for request in requests.pending(below: mark.request) { timeOut(request, now: now, &effects) }
        }
        if case .next(let moment) = probing, moment <= now { probe(now: now) }
    }

    private mutating func timeOut(_ request: UInt64, now: Duration, _ effects: inout Effects) {
        switch requests[request] {
        case .post(_, let waiter)? where waiter.timeout == nil:
            abandonPost(request, .outcomeUnknown(after: timeouts.limit), &effects)
        case .call(let call)? where call.waiter.timeout == nil && !call.waiter.isAnswered:
            switch call.replyTime {
            case .short: effects.fail(call, call.timeoutError(after: timeouts.limit))
            case .long: checkResponse(to: call, now: now, &effects)
            case .unlimited: break
            }
        case .subscribe(let number)?:
            guard let waiter = subscriptions[number]?.openWaiter, waiter.timeout == nil else { break }
            timeOutSubscription(number, .outcomeUnknown(after: timeouts.limit), &effects)
        case .serve(let number)?:
            guard let waiter = servers[number]?.openWaiter, waiter.timeout == nil else { break }
            effects.answer(waiter, .failure(.outcomeUnknown(after: timeouts.limit)))
        case .announce(let number, _, let slot)?:
            guard let waiter = slot ?? announcements[number]?.openWaiter, waiter.timeout == nil else { break }
            effects.answer(waiter, .failure(.outcomeUnknown(after: timeouts.limit)))
        default: break
        }
    }

    /// Handles the expiry of a request with a time limit of its own.
    private mutating func timeOut(_ slot: any RequestSlot, _ effects: inout Effects) {
        let limit = slot.timeout ?? timeouts.limit
        let waitingCalls = waitingCalls.count
        self.waitingCalls.removeAll { $0.call.waiter === slot }
        if posts.cancel(slot) || self.waitingCalls.count < waitingCalls {
            let error = notSent(within: limit)
            return effects.answers.append { slot.fail(error) }
        }
        if let number = subscriptions.firstNumber(where: { $0.openWaiter === slot }) {
            // A durable subscription may have been created before the connection was lost.
            let mayExist = subscriptions[number].map {
                $0.phase == .requested || $0.wasRequested && $0.spec.isDurable
            }
            return timeOutSubscription(
                number, mayExist == true ? .outcomeUnknown(after: limit) : notSent(within: limit), &effects)
        }
        // The caller ends the server, or withdraws the value.
        if servers.number(ofOpenWaiter: slot) != nil || announcements.number(ofOpenWaiter: slot) != nil {
            let error = notSent(within: limit)
            return effects.answers.append { slot.fail(error) }
        }
        let request = requests.firstRequest { entry in
            switch entry {
            case .post(_, let waiter): waiter.isTask(slot)
            case .call(let call): call.waiter === slot
            case .announce(_, _, let waiter?): waiter === slot
            default: false
            }
        }
        switch request.flatMap({ requests[$0] }) {
        case .post?: abandonPost(request ?? 0, .outcomeUnknown(after: limit), &effects)
        case .call(let call)?: effects.fail(call, call.timeoutError(after: limit))
        case .announce(_, _, let waiter?)?: effects.answer(waiter, .failure(.outcomeUnknown(after: limit)))
        default: break
        }
    }

    /// Handles the expiry of posts of a pipeline that has a time limit of its own.
    private mutating func timeOutPosts(of buffer: PipelineBuffer, before end: UInt64, _ effects: inout Effects) {
        let limit = buffer.timeout ?? timeouts.limit
        let error = notSent(within: limit)
        for waiter in posts.expire(of: buffer, before: end) { effects.outcomes.append(waiter, .failure(error)) }
        for request in requests.pending(below: requests.nextRequest) {
            if case .post(_, let waiter)? = requests[request], waiter.isPost(of: buffer, before: end) {
                abandonPost(request, .outcomeUnknown(after: limit), &effects)
            }
        }
    }

    /// Reports the error to the task that opens a subscription. The task then leaves the subscription.
    private mutating func timeOutSubscription(_ number: UInt32, _ error: NotifyError, _ effects: inout Effects) {
        guard let waiter = subscriptions.update(number, { $0.openWaiter.take() }) ?? nil else { return }
        effects.answer(waiter, .failure(error))
    }

    private func notSent(within limit: Duration) -> NotifyError {
        .timedOut(after: limit, lastFailure: connection.isReady ? nil : connection.lastFailure)
    }

    /// Reports the error of a post. The post still counts towards the daemon's window, until its receipt arrives.
    private mutating func abandonPost(_ request: UInt64, _ error: NotifyError, _ effects: inout Effects) {
        guard case .post(_, let waiter)? = requests[request] else { return }
        effects.outcomes.append(waiter, .failure(error))
        requests.update(request) { $0 = .abandonedPost }
    }

    // MARK: Requests that take long

    /// Pings that check whether the daemon responds while it works on a request that takes long.
    enum Probing {
        case none
        /// A ping was sent at this time, and is not answered yet.
        case sent(at: Duration)
        /// The next ping is sent at this time, if a request that takes long is still pending.
        case next(at: Duration)

        var deadline: Duration? {
            if case .next(let moment) = self { moment } else { nil }
        }
    }

    /// Handles the expiry of a request that may take long. The request fails only if the daemon has not answered a ping
    /// in time, either.
    private mutating func checkResponse(to call: any Call, now: Duration, _ effects: inout Effects) {
        switch probing {
        case .none: probe(now: now)
        case .sent(let moment) where moment + timeouts.limit <= now:
            effects.fail(call, call.timeoutError(after: timeouts.limit))
        case .sent, .next: break
        }
    }

    private mutating func probe(now: Duration) {
        guard connection.isReady, requests.firstRequest(where: \.isLongCall) != nil else { return probing = .none }
        probing = .sent(at: now)
        Ping(request: requests.append(.probe)).write(to: &outgoing)
        requestAdded(now: now)
    }

    mutating func probeAnswered(now: Duration) {
        probing = .next(at: now + timeouts.limit)
    }
}

extension ClientMachine.PendingRequest {
    fileprivate var isLongCall: Bool {
        if case .call(let call) = self { call.replyTime == .long && !call.waiter.isAnswered } else { false }
    }
}

extension NotifyError {
    static func outcomeUnknown(after limit: Duration) -> NotifyError {
        NotifyError(
            .outcomeUnknown, "notifyd did not answer within \(limit.text); the request may have been executed")
    }

    /// The error of a request that has no effect: it was not sent, or it changes nothing.
    static func timedOut(after limit: Duration, lastFailure: NotifyError? = nil) -> NotifyError {
        let reason = lastFailure.map { ": \($0.message)" } ?? ""
        return NotifyError(
            .timedOut, "notifyd did not answer within \(limit.text)\(reason); the request has changed nothing",
            cause: lastFailure)
    }
}
