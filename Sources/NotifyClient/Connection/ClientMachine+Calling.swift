import NotifyWire

extension ClientMachine {
    mutating func call(_ call: some Call, now: Duration, _ effects: inout Effects) {
        if let refusal {
            effects.fail(call, refusal)
        } else if connection.isReady {
            send(call, now: now)
        } else {
            waitingCalls.append((call, now + settings.connectionWait))
        }
        if let timeout = call.slot.timeout { timeouts.add(.request(call.slot), until: now + timeout) }
    }

    private mutating func send(_ call: any Call, now: @autoclosure () -> Duration) {
        var call = call
        call.write(request: requests.nextRequest, to: &outgoing)
        _ = requests.append(.call(call))
        requestAdded(now: now())
    }

    mutating func sendWaitingCalls(now: Duration, where isSent: (any Call) -> Bool = { _ in true }) {
        for (call, _) in waitingCalls where isSent(call) { send(call, now: now) }
        waitingCalls.removeAll { isSent($0.call) }
    }

    /// Cancels the call of a cancelled task. A call that is still waiting is not sent.
    ///
    /// - Returns: The error for the caller. Its message says whether the call was already sent.
    mutating func cancelCall(_ slot: AnyObject) -> NotifyError {
        let waiting = waitingCalls.count
        waitingCalls.removeAll { $0.call.waiter === slot }
        if waitingCalls.count < waiting { return .cancelled }
        cancelSent(slot)
        return .cancelledInFlight
    }

    /// Tells the daemon that the caller of a sent call has stopped waiting. The daemon then answers the call.
    private mutating func cancelSent(_ slot: AnyObject) {
        let request = requests.firstRequest { entry in
            if case .call(let call) = entry { call.waiter === slot && call.isCancellable } else { false }
        }
        guard let request, connection.isReady, case .call(let call)? = requests[request] else { return }
        call.frame.writeCancellation(to: &outgoing)
    }

    /// Fails each request that waits for a connection, if the service of its caller is being shut down.
    mutating func endWaits(_ effects: inout Effects) {
        guard !connection.isReady else { return }
        for waiter in posts.takeShutDown() { effects.outcomes.append(waiter, .failure(.shutDown)) }
        for (call, _) in waitingCalls where call.waiter.isShutDown { effects.fail(call, .shutDown) }
        waitingCalls.removeAll { $0.call.waiter.isShutDown }
    }

    /// Requests the end of this connection's backup. Without a connection, there is no backup.
    mutating func endBackup() {
        guard connection.isReady else { return }
        var call = FrameCall(BackupChunkRequest(offset: BackupChunkRequest.end))
        call.write(request: requests.nextRequest, to: &outgoing)
        _ = requests.append(.call(call))
    }

    // MARK: Replies

    /// Handles a frame of the reply to a request.
    mutating func replyReceived(
        _ frame: FrameDecoder.Frame, now: () -> Duration, _ effects: inout Effects
    ) throws(WireError) {
        let request = try frame.replyRequest
        let isComplete = try requests.update(request) { (entry) throws(WireError) in
            try entry.received(frame, &effects)
        }
        guard let isComplete else { throw .unexpected }
        guard isComplete else { return }
        switch try takeRequest(request) {
        case .deadline(let number):
            let settings = try DurableDescription(expecting: frame).settings
            extender.deadlineReported(number, .microseconds(settings.deadlineMicroseconds), now: now())
            settingsReported(settings, of: number)
        case .probe: probeAnswered(now: now())
        default: break
        }
    }

    /// Removes and returns the request that the daemon answers.
    mutating func takeRequest(_ request: UInt64) throws(WireError) -> PendingRequest {
        guard let entry = requests.take(request) else { throw .unexpected }
        return entry
    }
}

extension ClientMachine.PendingRequest {
    /// Handles a frame of the reply.
    ///
    /// - Returns: Whether the reply is complete.
    fileprivate mutating func received(
        _ frame: FrameDecoder.Frame, _ effects: inout Effects
    ) throws(WireError) -> Bool {
        switch self {
        case .call: return try updateCall { (call) throws(WireError) in try call.received(frame, &effects) } ?? false
        case .deadline: return true
        case .probe, .finalPing:
            _ = try Pong(expecting: frame)
            return true
        case .post, .abandonedPost, .subscribe, .detach, .serve, .endServing, .announce: throw .unexpected
        }
    }

    /// Changes a call in place; nil if the request is not a call.
    mutating func updateCall<Result, Failure>(
        _ body: (inout any Call) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard case .call(var call) = self else { return nil }
        // Releases the reference in `self` first, so that the change of the call does not copy the received part of the
        // reply.
        self = .finalPing
        defer { self = .call(call) }
        return try body(&call)
    }
}
