import Logging
import NotifyBroker
import NotifyLog
import NotifyWire

/// The repairs of the log, and the reloads that wait for them.
struct LogRepairs {
    /// Whether a repair waits for the commit in progress.
    fileprivate var isRequested = false
    /// The number of requested repairs that the store has not answered.
    fileprivate var count = 0
    /// Why one of the repairs that were pending together has failed; nil if all succeeded. Kept until the next repair,
    /// because the store may answer before the reload ends.
    fileprivate var problem: String?
    /// The requested reloads whose answers wait for the repair of the log.
    fileprivate var endedReloads: [(outcome: ReloadOutcome, connection: ConnectionID, request: UInt64)] = []
}

/// Applying reloads of the configuration.
extension BrokerDriver {
    /// Answers the client that requested a reload, once the store has examined the files of the log.
    func reloadEnded(_ outcome: ReloadOutcome, for id: ConnectionID, request: UInt64) {
        repairs.endedReloads.append((outcome, id, request))
        if repairs.count == 0, !repairs.isRequested { answerReloads() }
        scheduleTick()
    }

    /// Answers the clients that requested reloads, with the problem of the repairs.
    private func answerReloads() {
        let ended = repairs.endedReloads
        repairs.endedReloads = []
        for (outcome, id, request) in ended {
            let (pending, error): ([String], WireError?) =
                switch outcome {
                case .applied(let pending): (pending, nil)
                case .invalid(let error): ([], WireError(.configurationInvalid, error))
                case .refused(let error): ([], WireError(.limitReached, error))
                }
            core.broker.configurationReloaded(
                for: id, request: request, pendingSettings: pending, error: error, problem: repairs.problem)
        }
    }

    /// Applies the new configuration if it is valid, and repairs the log if its files were deleted or moved away.
    ///
    /// - Parameters:
    ///   - limits: The new limits; `nil` after an invalid reload.
    ///   - policy: The new policy; `nil` after an invalid reload. This method sets the generation of the policy.
    ///   - retention: The new retention policy; `nil` after an invalid reload.
    func reloaded(limits: BrokerConfiguration?, policy: AccessPolicy?, retention: RetentionPolicy?) {
        if let limits { core.broker.configurationChanged(to: limits) }
        // Replacing the policy drops all cached decisions, which is not necessary for an equal policy.
        let current = core.broker.policy
        if let policy, policy.allRules != current.allRules {
            core.broker.policyChanged(to: policy.with(generation: current.generation + 1))
            store.setPolicy(core.broker.policy)
        }
        if let retention, retention != self.retention {
            self.retention = retention
            store.setRetention(retention)
        }
        repairStorage()
        core.broker.storageChanged(now: now)
        scheduleTick()
    }

    /// Notes why the last reload has failed, for clients that ask for problems; `nil` if it succeeded.
    func reloadEnded(problem: String?) {
        core.broker.configurationProblem = problem
    }

    // MARK: Repairs

    /// Whether a repair waits for the commit in progress.
    var isRepairRequested: Bool { repairs.isRequested }

    /// Makes the store repair the log if the log's files were deleted or moved away. A commit in progress is completed
    /// first.
    func repairStorage() {
        repairs.isRequested = core.broker.isCommitting
        guard !repairs.isRequested else { return }
        if repairs.count == 0 { repairs.problem = nil }
        repairs.count += 1
        let continuation = core.broker.logContinuation
        store.repair(
            with: continuation, completion: onEventLoop { $0.repaired($1, keeping: continuation.messages) })
    }

    private func repaired(_ repair: LogRepair, keeping messages: [LogBlock]) {
        repairs.count -= 1
        switch repair {
        case .notNeeded: break
        case .reopened(let message): logger.warning("\(message)")
        case .replaced(let message, let losses):
            core.broker.logReplaced(keeping: messages, losses: losses)
            logger.critical("\(message)")
        case .failed(let message):
            repairs.problem = "the log was not repaired: \(message)"
            logger.error("the log was not repaired: \(message)")
        }
        if repairs.count == 0 { answerReloads() }
        reportProblem()
    }
}
