package import NotifyLog

/// An action that the host performs for the broker. Bytes to send are not actions: the host takes them from the
/// outboxes of touched connections.
package enum BrokerAction: Sendable {
    case commit(CommitBatch)
    case readPage(PageRequest)
    /// Close the connection now. The broker has released it already.
    case close(ConnectionID)
    /// Pause reading from the connection until `resumeReading`.
    case pauseReading(ConnectionID)
    case resumeReading(ConnectionID)
    /// Storage failed (the reason, for users) or works again (nil).
    case storageHealthChanged(problem: String?)
    /// Work is left: call `runTick` soon, after pending events.
    case scheduleTick
    /// An event for the daemon's log, at the detail set in `Broker.logDetail`.
    case log(BrokerEvent)
    /// Draining is complete: everything is committed, and every connection has `closing` in its outbox.
    case drained
}
