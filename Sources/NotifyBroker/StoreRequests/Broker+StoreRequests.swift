package import NotifyLog

/// Requests that wait for the store.
extension Broker {
    /// Must be called with each answer of the store to work that a `store` action has requested.
    package mutating func stored(_ answer: StoreAnswer, for ticket: StoreTicket, now: BrokerTime) {
        switch (answer, ticket) {
        case (.found(let result), _): sequenceFound(result, now: now)
        case (.summarized(let result), _): summarized(result, now: now)
        case (.purged(let result), _): purged(result, now: now)
        case (.checkAdvanced(let percent), _): logCheckAdvanced(toPercent: percent)
        case (.checked(let findings), _): logChecked(findings)
        case (.backlogs(let found), _): backlogsMeasured(found, now: now)
        case (.backupMade(let result), .backup(let number)): backupMade(number, result, now: now)
        case (.backupRead(let result), .backup(let number)): backupRead(number, result, now: now)
        default: preconditionFailure("the store has answered \(ticket) with \(answer)")
        }
    }
}
