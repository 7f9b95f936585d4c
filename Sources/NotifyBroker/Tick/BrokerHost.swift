package import NIOCore

/// Drives a broker: delivers events to it, and carries out its decisions on sockets, a store and a clock.
///
/// A host calls `runTick` after events. Each call to the host may be reentrant: a write may close a connection, which
/// is an event. Therefore accesses to the broker are short and never span a call to the host.
package protocol BrokerHost: AnyObject {
    associatedtype Sink: OutputSink

    var core: BrokerCore { get }
    /// The current time.
    var now: BrokerTime { get }

    /// Schedules one call of `runTick` soon, however often this is called before it runs.
    func scheduleTick()
    /// Calls `bytesReceived` with the connection's unprocessed bytes, even if there are none.
    func continueReceiving(_ id: ConnectionID)
    /// Calls `deadlinePassed` at the given time, which replaces a later one.
    func wake(at deadline: Duration)
    /// Carries out an action.
    func perform(_ action: BrokerAction)
    /// Records that sequences below `next` may become visible to peers with this tick. Called before any byte is sent.
    func sequencesUsed(below next: UInt64)

    /// The connection's output; nil if it is closed.
    func sink(_ id: ConnectionID) -> Sink?
}

/// The socket of a connection.
package protocol OutputSink: AnyObject {
    /// Whether more bytes may be written before `flush`. False once the socket is closed.
    var hasRoom: Bool { get }
    /// Whether flushed bytes wait for the socket, or it is closed. When none wait any more, the host calls
    /// `connectionWritable`.
    var isBlocked: Bool { get }
    func write(_ bytes: ByteBuffer)
    /// Sends the written bytes.
    func flush()
    /// Closes the socket once all written bytes are sent.
    func closeWhenFlushed()
}

/// Holds the broker for a host. Each access must end before a call to the host.
package final class BrokerCore {
    package var broker: Broker

    package init(_ broker: consuming Broker) {
        self.broker = broker
    }

    // What hosts ask in each turn is asked here: a nonmutating method of Broker that is not inlined, as across modules,
    // is given a copy of all of the broker's fields, 1.9 KB.

    /// The bytes of memory charged to all users together.
    package var chargedBytes: Int { broker.ledger.totalBytes }

    /// The most bytes that may be read at once from a connection of the user.
    package func readLimit(of uid: UInt32) -> Int { broker.ledger.readLimit(of: uid) }
}
