import NotifyLog

/// Reports of losses in the daemon's log.
extension Broker {
    /// Logs a loss of a subscription. Losses that a purge causes are logged at the end of the purge.
    mutating func logLoss(_ loss: Loss, of id: DurableID, in deletion: Deletion, now: Duration) {
        let isPurge = deletion.isPurge && deletion.released[id] == nil
        // A daemon that drains might not see the end of the purge, so it logs the loss at once.
        if isPurge, connections.drain == .notBegun { return durables.lossLog.purged(loss, of: id, now: now) }
        let reason: LossLog.Reason =
            deletion.released[id] != nil
            ? .backlog : isPurge || deletion.deadLettersThrough > 0 ? .purge : .rules
        logLoss(loss, of: id, reason, now: now)
    }

    mutating func logLoss(_ loss: Loss, of id: DurableID, _ reason: LossLog.Reason, now: Duration) {
        if let report = durables.lossLog.lost(loss, of: id, reason, now: now) { log(report) }
    }

    /// Logs the losses that a purge has caused. Must be called when the purge has ended or failed.
    mutating func logPurge(now: Duration) {
        for report in durables.lossLog.purgeEnded(now: now) { log(report) }
    }

    /// Logs the losses that are due.
    mutating func logLosses(now: Duration) {
        log(durables.lossLog.takeDue(now: now))
    }

    /// Logs all pending losses, because the daemon stops.
    mutating func logAllLosses() {
        log(durables.lossLog.takeAll())
    }

    private mutating func log(_ due: (reports: [LossLog.Report], others: Int)) {
        for report in due.reports { log(report) }
        guard due.others > 0 else { return }
        actions.append(
            .warn(
                "\(due.others) more durable subscriptions have lost messages; 'notifyctl durable list' shows how many "
                    + "each has lost"))
    }

    private mutating func log(_ report: LossLog.Report) {
        guard let slot = durables.slot(of: report.id) else { return }
        let (durable, loss) = (durables[slot], report.loss)
        let reason =
            switch report.reason {
            case .backlog: "the unread messages of its user exceed log.max_backlog"
            case .purge: "they were purged"
            case .rules: "the retention rules deleted them"
            case .forbidden: "no client that has attached may receive them any more"
            case .withheld: "too many waited for a client that may receive them"
            }
        actions.append(
            .warn(
                "durable subscription '\(durable.name)' of \(durable.uid.userTitle) lost "
                    + "\(loss.isUpperBound ? "at most " : "")\(loss.count) \(report.isLater ? "more " : "")messages "
                    + "(\(loss.first) to \(loss.last)): \(reason)"))
    }
}
