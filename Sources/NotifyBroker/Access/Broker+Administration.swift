import NotifyCenter
import NotifyLog
package import NotifyWire

/// Requests about the configuration and the policy.
extension Broker {
    mutating func reload(_ reload: Reload, _ slot: ConnectionSlot) throws(WireError) {
        try access.checkManageEverything(connections[slot].identity)
        connections[slot].answerPending()
        actions.append(.reload(connections[slot].id, request: reload.request))
    }

    /// Answers a reload request. Must be called when the host has carried out `BrokerAction.reload`.
    ///
    /// - Parameters:
    ///   - pendingSettings: The changed settings that take effect only at the next start.
    ///   - error: Why the configuration is not in effect; nil if it is.
    ///   - problem: The problem of a further step of the reload, such as the repair of the log; nil if there is none.
    package mutating func configurationReloaded(
        for id: ConnectionID, request: UInt64, pendingSettings: [String], error: WireError?, problem: String? = nil
    ) {
        guard connections.contains(id) else { return }
        connections[id.slot].answerResolved()
        if let error {
            let message = [error.message, problem].compactMap(\.self).joined(separator: "; besides, ")
            refuse(id.slot, request: request, WireError(error.code, message))
        } else {
            answer(id.slot, Reloaded(request: request, pendingSettings: pendingSettings, problem: problem ?? ""))
        }
    }

    /// Answers a query with the policy's decision about an identity.
    mutating func answer(_ query: PolicyQuery, _ slot: ConnectionSlot) throws(WireError) {
        let own = connections[slot].identity
        let isManager = access.mayManageEverything(own)
        if query.uid != connections[slot].uid { try access.checkManageEverything(own) }
        guard query.groups.count <= PolicyQuery.maximumGroups else {
            throw WireError(
                .invalidArgument,
                "the query has \(query.groups.count) groups, and the limit is \(PolicyQuery.maximumGroups)")
        }
        // Only managers may choose the groups of the query. For other peers, their own groups apply.
        let identity =
            isManager ? Identity(uid: query.uid, gid: query.gid, groups: query.groups) : access.identity(own)
        scheduler.spend(FairScheduler.Cost.statistics + access.policy.walkCost * (1 + identity.groups.count / 16))
        let pattern = try NamePattern(requested: query.name)
        let decision: AccessDecision
        switch query.right {
        case .post:
            guard pattern.isExact else {
                throw WireError(.invalidName, "'\(query.name)' is a pattern, and posting takes a name")
            }
            decision = pattern.withUTF8 {
                access.policy.decision(access.policy.nameRules(.post, $0), identity)
            }
        case .subscribe: decision = access.policy.explainedSubscribeDecision(pattern, identity)
        case .manage: decision = access.policy.manageDecision(pattern, identity)
        case .serve: decision = access.policy.serveDecision(pattern, identity)
        }
        let reason = isManager ? decision.description : pattern.withUTF8 { decision.reason(for: $0) }
        answer(slot, PolicyDecision(request: query.request, isAllowed: decision.isAllowed, reason: reason))
    }
}
