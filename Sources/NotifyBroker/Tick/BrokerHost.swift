package import NIOCore

/// What drives a broker: brings events to it, and carries out what it decides on sockets, a store and a clock.
///
/// A host calls `runTick` after events, and may be called back from within each of these calls by what it drives: a write
/// may close a connection, which is an event. Therefore the broker is reached in short accesses, never across a call to
/// the host.
package protocol BrokerHost: AnyObject {
    associatedtype Sink: OutputSink

    var core: BrokerCore { get }
    /// The present time.
    var now: BrokerTime { get }

    /// Calls `runTick` soon, once however often this is called before.
    func scheduleTick()
    /// Calls `bytesReceived` with the connection's bytes that were not used, also if there are none.
    func continueReceiving(_ id: ConnectionID)
    /// Calls `deadlinePassed` at the time, which replaces any later one.
    func wake(at deadline: Duration)
    /// Carries out an action.
    func perform(_ action: BrokerAction)
    /// Sequences below `next` may become visible to peers with this tick. Called before bytes leave.
    func sequencesUsed(below next: UInt64)

    /// Where the connection's bytes go; nil if it is closed.
    func sink(_ id: ConnectionID) -> Sink?
}

/// The socket of a connection.
package protocol OutputSink: AnyObject {
    /// Whether more bytes may be written before `flush`. False once it is closed.
    var hasRoom: Bool { get }
    /// Whether bytes that were flushed wait for the socket, or it is closed. `connectionWritable` follows when none wait.
    var isBlocked: Bool { get }
    func write(_ bytes: ByteBuffer)
    /// Sends what was written.
    func flush()
    /// Closes once everything written has been sent.
    func closeWhenFlushed()
}

/// Holds the broker for a host. Each access must end before a call to the host.
package final class BrokerCore {
    package var broker: Broker

    package init(_ broker: consuming Broker) {
        self.broker = broker
    }
}
