package import NotifyLog
package import NotifyWire

/// An action that the host performs for the broker. Output is not an action: the host takes the bytes to send from the
/// outboxes of touched connections.
package enum BrokerAction: Sendable {
    case commit(CommitBatch)
    case readPage(PageRequest)
    /// Read copies of messages of a durable subscription, and report them with `redeliveriesRead`. The next ones are
    /// requested only after the report.
    case readRedeliveries(RedeliveryRequest)
    /// Find the first stored message posted at this time or later, in microseconds since 1970, and report it with
    /// `sequenceFound`. The next search is requested only after the report.
    case findSequence(atOrAfter: UInt64)
    /// Count the unacknowledged messages of each durable subscription that may be delivered, and report them with
    /// `backlogsMeasured`. The next count is requested only after the report.
    case measureBacklogs(under: AccessPolicy)
    /// Sum up the stored messages of each name, and report them with `summarized`. The next summary is requested only
    /// after the report.
    case summarize(SummaryRequest)
    /// Copy the log for a backup, and report it with `backupMade` and the number.
    case beginBackup(UInt64, target: FileLocation)
    /// Read a chunk of the backup, and report it with `backupRead` and the number.
    case readBackup(UInt64, offset: UInt64, maximumBytes: Int)
    /// Remove the copy of the log, also while it is being made.
    case endBackup
    /// Delete stored messages, and report the end with `purged`. The next purge is requested only after the report.
    case purge(PurgeRequest)
    /// Check every row of the log. Report its progress with `logCheckAdvanced` and its end with `logChecked`. The next
    /// check is requested only after the end.
    case checkLog
    /// Close the connection now. The broker has released it already.
    case close(ConnectionID)
    /// Pause reading from the connection until `resumeReading`.
    case pauseReading(ConnectionID)
    case resumeReading(ConnectionID)
    /// Storage failed or works again. `problem` describes the failure for users; nil if storage works again.
    case storageHealthChanged(problem: String?)
    /// Read the configuration again, and report the outcome with `configurationReloaded`.
    case reload(ConnectionID, request: UInt64)
    /// Call `runTick` after the pending events, because work remains.
    case scheduleTick
    /// Write an event to the daemon's log. Which events are reported depends on `Broker.logDetail`.
    case log(BrokerEvent)
    /// Write a warning to the daemon's log.
    case warn(String)
    /// Draining is complete: no commit is pending, and `closing` is in the outbox of every connection that has not
    /// failed.
    case drained
}
