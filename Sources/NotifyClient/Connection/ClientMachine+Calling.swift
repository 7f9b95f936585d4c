import NotifyWire

extension ClientMachine {
    mutating func call(_ call: Call, now: Duration, _ effects: inout Effects) {
        if let refusal {
            effects.fail(call, refusal)
        } else if connection.isReady {
            send(call, now: now)
        } else {
            waitingCalls.append((call, now + settings.connectionWait))
        }
        let slot = call.slot
        if let timeout = slot.timeout { timeouts.add(.request(slot), until: now + timeout) }
    }

    private mutating func send(_ call: Call, now: @autoclosure () -> Duration) {
        call.write(request: requests.append(.call(call)), to: &outgoing)
        requestAdded(now: now())
    }

    mutating func sendWaitingCalls(now: Duration) {
        for (call, _) in waitingCalls { send(call, now: now) }
        waitingCalls.removeAll()
    }

    /// The calling task was cancelled. A call that is still waiting is not sent.
    ///
    /// - Returns: The error for the caller, which says whether the call was already sent.
    mutating func cancelCall(_ slot: AnyObject) -> NotifyError {
        let waiting = waitingCalls.count
        waitingCalls.removeAll { $0.call.slot === slot }
        if waitingCalls.count < waiting { return .cancelled }
        endRead(answering: slot)
        return .cancelledInFlight
    }

    /// Fails the requests that wait for a connection and whose services are shut down.
    mutating func endWaits(_ effects: inout Effects) {
        guard !connection.isReady else { return }
        for waiter in posts.takeShutDown() { effects.outcomes.append(waiter, .failure(.shutDown)) }
        for (call, _) in waitingCalls where call.slot.isShutDown { effects.fail(call, .shutDown) }
        waitingCalls.removeAll { $0.call.slot.isShutDown }
    }

    /// Makes the daemon end the backup of this connection. Without a connection there is none.
    mutating func endBackup() {
        guard connection.isReady else { return }
        let call = Call.backupChunk(offset: BackupChunkRequest.end, ReplySlot())
        call.write(request: requests.append(.call(call)), to: &outgoing)
    }

    // MARK: Answers

    mutating func entryReceived(_ entry: ListedEntry) {
        requests.update(entry.request) { request in
            guard case .call(.list(let query, let slot, var soFar)) = request else { return }
            // Release the table's reference first, so that appending does not copy the array.
            request = .call(.list(query, slot, entries: []))
            soFar.append(entry)
            request = .call(.list(query, slot, entries: soFar))
        }
    }

    mutating func listEnded(_ end: ListEnd, _ effects: inout Effects) throws(WireError) {
        guard case .call(.list(_, let slot, let all)) = try takeRequest(end.request) else { throw .unexpected }
        effects.answer(slot, .success(all))
    }

    mutating func removed(_ removed: Removed, _ effects: inout Effects) throws(WireError) {
        guard case .call(.remove(_, _, _, let slot)) = try takeRequest(removed.request) else { throw .unexpected }
        effects.answer(slot, .success(()))
    }

    mutating func described(
        _ description: DurableDescription, now: () -> Duration, _ effects: inout Effects
    ) throws(WireError) {
        switch try takeRequest(description.request) {
        case .call(.durable(_, let slot)):
            effects.answer(slot, .success(NotificationClient.Administration.DurableDetails(description)))
        case .deadline(let number):
            let deadline = Duration.microseconds(description.settings.deadlineMicroseconds)
            extender.deadlineReported(number, deadline, now: now())
            settingsReported(description.settings, of: number)
        default: throw .unexpected
        }
    }

    mutating func deadLettersDone(_ done: DeadLettersDone, _ effects: inout Effects) throws(WireError) {
        guard case .call(.deadLetters(_, let slot)) = try takeRequest(done.request) else { throw .unexpected }
        effects.answer(slot, .success(NotificationClient.Administration.DeadLetterResult(done)))
    }

    mutating func pongReceived(
        _ pong: Pong, now: () -> Duration, _ effects: inout Effects
    ) throws(WireError) {
        switch try takeRequest(pong.request) {
        case .call(.ping(let slot)): effects.answer(slot, .success(()))
        case .probe: probeAnswered(now: now())
        case .finalPing: break
        default: throw .unexpected
        }
    }

    mutating func statisticsReceived(_ report: StatisticsReport, _ effects: inout Effects) throws(WireError) {
        switch try takeRequest(report.request) {
        case .call(.statistics(let slot)):
            effects.answer(
                slot, .success(NotificationClient.Administration.Statistics(report, version: daemonInfo.daemonVersion)))
        case .call(.limits(let slot)):
            effects.answer(slot, .success(NotificationClient.Administration.ResourceUse.all(in: report)))
        default: throw .unexpected
        }
    }

    mutating func reloaded(_ reloaded: Reloaded, _ effects: inout Effects) throws(WireError) {
        guard case .call(.reload(let slot)) = try takeRequest(reloaded.request) else { throw .unexpected }
        let outcome = NotificationClient.Administration.ReloadOutcome(
            pendingSettings: reloaded.pendingSettings, problem: reloaded.problem.isEmpty ? nil : reloaded.problem)
        effects.answer(slot, .success(outcome))
    }

    /// The progress of a check; without effect if the call was cancelled.
    mutating func checkAdvanced(_ progress: CheckProgress, _ effects: inout Effects) {
        guard case .call(.check(_, _, let report)) = requests[progress.request] else { return }
        effects.answers.append { report(Int(progress.percent)) }
    }

    mutating func checkEnded(_ report: CheckReport, _ effects: inout Effects) throws(WireError) {
        guard case .call(.check(_, let slot, _)) = try takeRequest(report.request) else { throw .unexpected }
        effects.answer(slot, .success(NotificationClient.Administration.LogCheck(report)))
    }

    mutating func decisionReceived(_ decision: PolicyDecision, _ effects: inout Effects) throws(WireError) {
        guard case .call(.policy(_, let slot)) = try takeRequest(decision.request) else { throw .unexpected }
        effects.answer(slot, .success(.init(isAllowed: decision.isAllowed, reason: decision.reason)))
    }

    mutating func backupReady(_ ready: BackupReady, _ effects: inout Effects) throws(WireError) {
        guard case .call(.backup(_, let slot)) = try takeRequest(ready.request) else { throw .unexpected }
        effects.answer(slot, .success(ready.bytes))
    }

    mutating func chunkReceived(_ chunk: BackupChunk, _ effects: inout Effects) throws(WireError) {
        guard case .call(.backupChunk(_, let slot)) = try takeRequest(chunk.request) else { throw .unexpected }
        effects.answer(slot, .success(chunk.bytes))
    }

    mutating func purged(_ purged: Purged, _ effects: inout Effects) throws(WireError) {
        guard case .call(.purge(_, let slot)) = try takeRequest(purged.request) else { throw .unexpected }
        effects.answer(slot, .success(NotificationClient.Administration.PurgeResult(purged)))
    }

    /// Removes and returns the request that the daemon answers.
    mutating func takeRequest(_ request: UInt64) throws(WireError) -> PendingRequest {
        guard let entry = requests.take(request) else { throw .unexpected }
        return entry
    }
}

extension WireError {
    static let unexpected = WireError(.malformedFrame, "an answer without a pending request")
}
