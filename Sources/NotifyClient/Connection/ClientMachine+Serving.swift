import NotifyWire

/// Servers, and the calls that they receive.
extension ClientMachine {
    /// Adds a server, and registers it if there is a connection. The entry's `openWaiter` gets the outcome.
    ///
    /// - Returns: The server's number; 0 if it was refused.
    mutating func serve(_ entry: ServerRegistration, now: Duration, _ effects: inout Effects) -> UInt32 {
        guard let deadline = beginOpening(entry.openWaiter, now: now, &effects) else { return 0 }
        var entry = entry
        entry.phase = .waiting(deadline: deadline)
        let number = servers.add(entry)
        if connection.isReady {
            register(number)
            requestAdded(now: now)
        }
        return number
    }

    mutating func register(_ number: UInt32) {
        guard let entry = servers[number], case .waiting = entry.phase else { return }
        Serve(
            request: requests.append(.serve(number)), server: number, concurrency: entry.concurrency,
            patterns: entry.patterns
        ).write(to: &outgoing)
        servers.update(number) { $0.phase = .requested }
    }

    mutating func servingBegan(_ frame: Serving, _ effects: inout Effects) throws(WireError) {
        guard case .serve(let number) = try takeRequest(frame.request), number == frame.server else {
            throw .unexpected
        }
        guard let entry = servers[number], entry.phase == .requested else { return }
        if let waiter = entry.openWaiter { effects.answer(waiter, .success(())) }
        servers.update(number) { $0.phase = .live }
        servers.update(number) { $0.openWaiter = nil }
    }

    /// Ends a server. Gives back the calls that no handler has. Running handlers may still respond: the server stays
    /// until this is called again with a slot.
    ///
    /// - Parameter slot: Answered once the daemon has confirmed that no further call follows; nil while handlers may run.
    mutating func endServing(_ number: UInt32, _ slot: ReplySlot<Void>?, now: Duration, _ effects: inout Effects) {
        guard let entry = servers[number] else {
            if let slot { effects.answer(slot, .success(())) }
            return
        }
        if let slot { servers.update(number) { $0.endWaiter = slot } }
        // After the frame that ends the server, so that the daemon does not hand a call back to it.
        defer { effects.answers.append { entry.calls.end() } }
        switch entry.phase {
        case .waiting: servers.update(number) { $0.phase = .ended }
        case .requested, .live:
            EndServing(request: requests.append(.endServing(number)), server: number).write(to: &outgoing)
            requestAdded(now: now)
            servers.update(number) { $0.phase = .ending }
            if let waiter = entry.openWaiter { effects.answer(waiter, .failure(.stopped)) }
            servers.update(number) { $0.openWaiter = nil }
        case .ending, .ended: break
        }
        finishServerIfEnded(number, now: now, &effects)
    }

    mutating func servingEnded(
        _ frame: ServingEnded, now: Duration, _ effects: inout Effects
    ) throws(WireError) {
        guard case .endServing(let number) = try takeRequest(frame.request) else { throw .unexpected }
        serverEnded(number, now: now, &effects)
    }

    mutating func serverEnded(_ number: UInt32, now: Duration, _ effects: inout Effects) {
        servers.update(number) { $0.phase = .ended }
        finishServerIfEnded(number, now: now, &effects)
    }

    private mutating func finishServerIfEnded(_ number: UInt32, now: Duration, _ effects: inout Effects) {
        guard let entry = servers[number], entry.phase == .ended, entry.endWaiter != nil else { return }
        finishServer(number, nil, &effects)
        // The pong confirms that the daemon has received the last responses.
        if connection.isDraining, servers.isEmpty { writeFinalPing() }
        continueShutdown(now: now, &effects)
    }

    /// Removes a server and reports its end to the program.
    mutating func finishServer(_ number: UInt32, _ error: NotifyError?, _ effects: inout Effects) {
        guard let entry = servers.remove(number) else { return }
        // First, because the waiting task then reads the error.
        effects.answers.append { entry.calls.end(error) }
        if let waiter = entry.openWaiter { effects.answer(waiter, .failure(error ?? .stopped)) }
        if let waiter = entry.endWaiter { effects.answer(waiter, .success(())) }
    }

    /// Must be called for each server when the connection was lost. A server that is being ended ends.
    mutating func serverDisconnected(_ number: UInt32, now: Duration, _ effects: inout Effects) {
        guard let entry = servers[number] else { return }
        effects.answers.append { entry.calls.connectionLost() }
        switch entry.phase {
        case .requested where entry.openWaiter != nil:
            servers.update(number) { $0.phase = .waiting(deadline: now + settings.connectionWait) }
        case .requested, .live: servers.update(number) { $0.phase = .waiting(deadline: nil) }
        case .waiting: break
        case .ending, .ended:
            servers.update(number) { $0.phase = .ended }
            finishServerIfEnded(number, now: now, &effects)
        }
    }

    // MARK: Calls

    mutating func callReceived(_ frame: FrameDecoder.Frame, _ effects: inout Effects) throws(WireError) {
        let call = try ServiceCall(frame)
        let received = ReceivedCall(
            number: call.call, connection: lostConnections, request: NotificationClient.Request(call))
        guard let entry = servers[call.server], entry.phase == .live || entry.phase == .requested else {
            // The call has crossed with the end of the server.
            return respond(to: received, .returned, headers: [], payload: [])
        }
        let calls = entry.calls
        effects.answers.append { calls.put(received) }
    }

    mutating func callEnded(_ frame: ServiceCallEnded, _ effects: inout Effects) {
        let lost = lostConnections
        for number in servers.numbers {
            if let calls = servers[number]?.calls { effects.answers.append { calls.cancel(frame.call, on: lost) } }
        }
    }

    /// Sends the response to a call, unless the connection on which the call arrived was lost.
    mutating func respond(
        to call: ReceivedCall, _ outcome: Respond.Outcome, headers: [UInt8], payload: [UInt8]
    ) {
        guard call.connection == lostConnections, connection.isReady || connection.isDraining else { return }
        guard payload.count <= daemonInfo.maximumPayloadBytes else {
            let text =
                "the reply has \(payload.count) bytes; this daemon accepts at most \(daemonInfo.maximumPayloadBytes)"
            return respond(to: call, .failed, headers: [], payload: Array(text.utf8))
        }
        headers.withUnsafeBytes { headers in
            payload.withUnsafeBytes { payload in
                Respond(call: call.number, outcome: outcome, headers: headers, payload: payload).append(to: &outgoing)
            }
        }
    }
}
