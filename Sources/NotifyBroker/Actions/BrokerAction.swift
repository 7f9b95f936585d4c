package import NotifyLog
import NotifyWire

/// An action that the host performs for the broker. Output is not an action: the host takes the bytes to send from the
/// outboxes of the connections whose outbox has changed in this tick.
package enum BrokerAction: Sendable {
    case commit(CommitBatch)
    case readPage(PageRequest)
    /// Read copies of messages of a durable subscription, and report them with `redeliveriesRead`. Further copies are
    /// requested only after the report.
    case readRedeliveries(RedeliveryRequest)
    /// Have the store do work for a request, and report each answer with `stored` and the ticket.
    case store(StoreWork, StoreTicket)
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
