package import NIOCore

/// What drives a broker: brings events to it, and carries out what it decides on sockets, a store and a clock.
///
/// A host calls `runTick` after events, and may be called back from within each of these calls by what it drives: a write
/// may close a connection, which is an event. Therefore the broker is reached in short accesses, never across a call to
/// the host.
package protocol BrokerHost: AnyObject {
    var core: BrokerCore { get }
    /// The present time.
    var now: BrokerTime { get }

    /// Calls `runTick` soon, once however often this is called before.
    func scheduleTick()
    /// Calls `deadlinePassed` at the time, which replaces any later one.
    func wake(at deadline: Duration)
    /// Carries out an action other than `continueSoon`.
    func perform(_ action: BrokerAction)
    /// Sequences below `next` may become visible to peers with this tick. Called before bytes leave.
    func sequencesUsed(below next: UInt64)

    /// Whether the connection's socket takes more bytes. False for one that is closed.
    func hasRoom(_ id: ConnectionID) -> Bool
    func write(_ bytes: ByteBuffer, to id: ConnectionID)
    /// Sends what was written.
    func flush(_ id: ConnectionID)
    /// Closes the connection once everything written has been sent.
    func closeWhenFlushed(_ id: ConnectionID)
}

/// Holds the broker for a host. Each access must end before a call to the host.
package final class BrokerCore {
    package var broker: Broker

    package init(_ broker: consuming Broker) {
        self.broker = broker
    }
}
