import NotifyBroker
import NotifyLog
import NotifyWire

/// Applying reloads of the configuration.
extension BrokerDriver {
    /// Answers the client that requested a reload, once the files of the log are examined.
    func reloadEnded(_ outcome: ReloadOutcome, for id: ConnectionID, request: UInt64) {
        endedReloads.append((outcome, id, request))
        if repairs == 0, !isRepairRequested { answerReloads() }
        scheduleTick()
    }

    /// Answers the clients that requested reloads, with the problem of the last repair.
    func answerReloads() {
        let ended = endedReloads
        endedReloads = []
        for (outcome, id, request) in ended {
            let (pending, error): ([String], WireError?) =
                switch outcome {
                case .applied(let pending): (pending, nil)
                case .invalid(let error): ([], WireError(.configurationInvalid, error))
                case .refused(let error): ([], WireError(.limitReached, error))
                }
            core.broker.configurationReloaded(
                for: id, request: request, pendingSettings: pending, error: error, problem: repairProblem)
        }
    }

    /// Applies a valid configuration, and repairs the log if its files were deleted or moved away.
    ///
    /// - Parameters:
    ///   - limits: The new limits; `nil` after an invalid reload.
    ///   - policy: The new policy, whose generation is set here; `nil` after an invalid reload.
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

    /// Notes why the last reload has failed, for clients that ask for problems; `nil` if it has not.
    func reloadEnded(problem: String?) {
        core.broker.configurationProblem = problem
    }
}
