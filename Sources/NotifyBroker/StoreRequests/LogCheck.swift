import NotifyLog
import NotifyWire

/// A request to check every row of the log. All requests that wait at the end of a check are answered with its result.
struct LogCheck: StoreTask {
    static let kind = StoreRequestKind.check
    static let refusal = "not checked"
    static let holdsConnection = false

    func begin(_ request: RequestID, in broker: inout Broker, now: BrokerTime) -> StoreTaskStart { .asks(.check) }

    func answered(
        _ answer: StoreAnswer, for request: RequestID?, in broker: inout Broker, now: BrokerTime
    ) -> StoreTaskProgress {
        let current = [request].compactMap { $0 }
        switch answer {
        case .checkAdvanced(let percent):
            for waiting in current + broker.storeRequests.waiting(.check).map(\.id) {
                broker.answer(waiting, CheckProgress(request: waiting.number, percent: UInt8(clamping: percent)))
            }
            return .continues
        case .checked(let findings):
            broker.logChecked(findings, for: current + broker.takeWaiting(.check))
            return .ended
        default: unexpected(answer)
        }
    }
}

/// A request for the known damage. It waits for the outcome of the next batch, which shows whether storing works.
struct HealthProbe: StoreTask {
    static let kind = StoreRequestKind.probe
    static let refusal = "not checked"
    static let holdsConnection = false

    func begin(_ request: RequestID, in broker: inout Broker, now: BrokerTime) -> StoreTaskStart {
        let pendingBytes = broker.commits.pending.bytes
        broker.commits.append(nil, then: .probed)
        broker.chargePending(since: pendingBytes, to: request.connection.slot)
        return .waits
    }

    func answered(
        _ answer: StoreAnswer, for request: RequestID?, in broker: inout Broker, now: BrokerTime
    ) -> StoreTaskProgress { unexpected(answer) }
}

/// Reporting damage of the log.
extension Broker {
    /// The maximum number of waiting requests for a full check, and of waiting requests for the known damage.
    static let maximumLogChecks = 8

    /// Answers with the damage of the log. A full check reads every row first. Any other check answers with the known
    /// damage. Unless storage fails already, it waits for the outcome of the next batch, which shows whether storing
    /// works.
    mutating func check(_ check: CheckRequest, _ slot: ConnectionSlot) throws(WireError) {
        try access.checkManageEverything(connections[slot].identity)
        scheduler.spend(check.isFull ? FairScheduler.Cost.search : FairScheduler.Cost.statistics)
        if check.isFull {
            try checkLogChecks(.check)
            try request(LogCheck(), check.request, slot)
        } else if commits.refusal != nil {
            answer(slot, knownDamage(request: check.request))
        } else {
            try checkLogChecks(.probe)
            try request(HealthProbe(), check.request, slot)
        }
    }

    private func checkLogChecks(_ kind: StoreRequestKind) throws(WireError) {
        guard storeRequests.unansweredCount(of: kind) < Self.maximumLogChecks else {
            throw WireError(.limitReached, "\(Self.maximumLogChecks) requests wait for a check of the log")
        }
    }

    /// Answers the requests that wait to learn whether storing works.
    mutating func answerProbes() {
        let current = takeCurrent(.probe)
        for waiting in [current].compactMap({ $0 }) + takeWaiting(.probe) {
            answer(waiting, knownDamage(request: waiting.number))
        }
    }

    private func knownDamage(request: UInt64) -> CheckReport {
        var problems = commits.damage.problems
        var count = commits.damage.problemCount
        for failure in [commits.health.failure, statistics.retentionFailure] {
            guard let failure, failure.kind == .damaged, !problems.contains(where: { $0.text == failure.message })
            else { continue }
            problems.insert(LogProblem(.database, failure.message), at: 0)
            count += 1
        }
        return CheckReport(
            request: request, isFull: false, damagedMessages: commits.damage.messages, problemCount: count,
            damagedRanges: commits.damage.ranges, problems: problemsOfDaemon + problems)
    }

    /// The problems other than those of the log.
    private var problemsOfDaemon: [LogProblem] {
        var problems: [LogProblem] = []
        // Damage is already among the problems of the log.
        if let failure = commits.health.failure, failure.kind != .damaged {
            problems.append(LogProblem(.storage, failure.message))
        }
        if let problem = daemon.configurationProblem { problems.append(LogProblem(.configuration, problem)) }
        return problems
    }

    fileprivate mutating func logChecked(_ findings: LogFindings, for requests: [RequestID]) {
        if !findings.isSound {
            actions.append(
                .warn(
                    "the check of the log has found \(findings.damagedMessages) damaged messages and "
                        + "\(findings.problemCount) other problems"))
        }
        commits.damage.checked(findings)
        for request in requests {
            answer(
                request,
                CheckReport(
                    request: request.number, isFull: true, messages: findings.messages, names: findings.names,
                    segments: findings.segments, subscriptions: findings.subscriptions,
                    damagedMessages: findings.damagedMessages, problemCount: findings.problemCount,
                    damagedRanges: findings.damagedRanges, problems: problemsOfDaemon + findings.problems))
        }
    }
}
