package import NotifyLog

/// What the host is to do for the broker, in order. Bytes to send are not among them: they are taken from the outboxes of
/// the connections that were touched.
package enum BrokerAction: Sendable {
    case commit(CommitBatch)
    case readPage(PageRequest)
    /// Close now; the broker has released the connection.
    case close(ConnectionID)
    /// Read no more from the connection until `resumeReading`.
    case pauseReading(ConnectionID)
    case resumeReading(ConnectionID)
    /// Storage failed (a message for people) or works again (nil).
    case storageHealthChanged(problem: String?)
    /// Work is left: call `runTick` soon, after events that have come meanwhile.
    case continueSoon
    /// An event for the log, where `Broker.logDetail` asks for it.
    case log(BrokerEvent)
    /// Everything is committed and every connection has its `closing` in the outbox: nothing more will come.
    case drained
}
