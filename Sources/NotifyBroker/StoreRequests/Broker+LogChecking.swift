import NotifyLog
import NotifyWire

/// Reporting damage of the log.
extension Broker {
    /// Answers with the known damage. An empty commit first shows whether storing works; for a full check, the store
    /// first checks every row of the log.
    mutating func check(_ check: CheckRequest, _ slot: ConnectionSlot) throws(WireError) {
        try access.checkManageEverything(connections[slot].identity)
        let request = LogChecks.Request(connection: connections[slot].id, request: check.request)
        guard check.isFull else {
            scheduler.spend(FairScheduler.Cost.statistics)
            guard commits.refusal == nil else { return answer(slot, knownDamage(request: check.request)) }
            if try logChecks.addProbe(request) { commits.append(nil, then: .probed) }
            return
        }
        scheduler.spend(FairScheduler.Cost.search)
        if try logChecks.add(request) { actions.append(.store(.check, .request(.check))) }
    }

    /// Answers the checks that wait to learn whether storing works.
    mutating func answerProbes() {
        for waiting in logChecks.takeProbes() {
            answer(waiting.connection.slot, knownDamage(request: waiting.request))
        }
    }

    private func knownDamage(request: UInt64) -> CheckReport {
        var problems = logChecks.problems
        var count = logChecks.problemCount
        for failure in [commits.health.failure, statistics.retentionFailure] {
            guard let failure, failure.kind == .damaged, !problems.contains(where: { $0.text == failure.message })
            else { continue }
            problems.insert(LogProblem(.database, failure.message), at: 0)
            count += 1
        }
        return CheckReport(
            request: request, isFull: false, damagedMessages: logChecks.damagedMessages, problemCount: count,
            damagedRanges: logChecks.damagedRanges, problems: problemsOfDaemon + problems)
    }

    /// The problems besides those of the log.
    private var problemsOfDaemon: [LogProblem] {
        var problems: [LogProblem] = []
        // Damage is among the problems of the log.
        if let failure = commits.health.failure, failure.kind != .damaged {
            problems.append(LogProblem(.storage, failure.message))
        }
        if let problem = daemon.configurationProblem { problems.append(LogProblem(.configuration, problem)) }
        return problems
    }

    /// The store's check has advanced.
    mutating func logCheckAdvanced(toPercent percent: Int) {
        for waiting in logChecks.waiting {
            answer(
                waiting.connection.slot,
                CheckProgress(request: waiting.request, percent: UInt8(clamping: percent)))
        }
    }

    /// The store has checked the log.
    mutating func logChecked(_ findings: LogFindings) {
        if !findings.isSound {
            actions.append(
                .warn(
                    "the check of the log has found \(findings.damagedMessages) damaged messages and "
                        + "\(findings.problemCount) other problems"))
        }
        for waiting in logChecks.finished(findings) {
            answer(
                waiting.connection.slot,
                CheckReport(
                    request: waiting.request, isFull: true, messages: findings.messages, names: findings.names,
                    segments: findings.segments, subscriptions: findings.subscriptions,
                    damagedMessages: findings.damagedMessages, problemCount: findings.problemCount,
                    damagedRanges: findings.damagedRanges, problems: problemsOfDaemon + findings.problems))
        }
    }

    /// Refuses the requests that wait for a check, because the daemon stops.
    mutating func refuseLogChecks() {
        for waiting in logChecks.removeAll() + logChecks.takeProbes() {
            refuse(
                waiting.connection.slot, request: waiting.request,
                WireError(.closing, "not checked: the daemon is shutting down"))
        }
    }
}
