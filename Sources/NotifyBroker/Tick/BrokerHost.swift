package import NIOCore
package import NotifyWire

/// Drives a broker: delivers events to it, and carries out its decisions on sockets, a store and a clock.
///
/// A host calls `runTick` after events. Calls to the host may be reentrant: for example, a write may close a
/// connection, and the host passes this event to the broker at once. Therefore accesses to the broker are short and
/// never span a call to the host.
package protocol BrokerHost: AnyObject {
    associatedtype Sink: OutputSink

    var core: BrokerCore { get }
    /// The current time.
    var now: BrokerTime { get }

    /// Schedules a call of `runTick`. Has no effect while a call is already scheduled.
    func scheduleTick()
    /// Calls `bytesReceived` with the connection's unprocessed bytes, even if there are none.
    func continueReceiving(_ id: ConnectionID)
    /// Schedules a call of the broker's `deadlinePassed`, followed by a tick, at the given time. An earlier time
    /// replaces a later one; a later time is ignored.
    func wake(at deadline: Duration)
    /// Carries out an action.
    func perform(_ action: BrokerAction)
    /// Records that sequences below `next` may become visible to peers with this tick. Called before any byte is sent.
    func sequencesUsed(below next: UInt64)

    /// The socket of the connection; nil if the connection is closed.
    func sink(_ id: ConnectionID) -> Sink?
}

/// The socket of a connection.
package protocol OutputSink: AnyObject {
    /// Whether more bytes may be written before `flush`. False once the socket is closed.
    var hasRoom: Bool { get }
    /// Whether flushed bytes wait for the socket, or the socket is closed. The host calls `connectionWritable` once no
    /// flushed bytes wait.
    var isBlocked: Bool { get }
    /// The kernel's memory for sent bytes that the peer has not read. May be a few KiB too low.
    var socketBytes: Int { get }
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

    // Queries that hosts make in every turn of the event loop. `BrokerCore` has them because a nonmutating method of
    // `Broker`, called from another module, is not inlined, and the call copies all fields (over 4 KB).

    /// The memory charged to all users together, in bytes.
    package var chargedBytes: Int { broker.ledger.totalBytes }

    /// Every figure of the daemon.
    package func counters(now: BrokerTime) -> [StatisticsReport.Counter] { broker.counters(now: now) }

    /// The size of the send buffer for the user's next connection, in bytes; nil for the default.
    package func sendBufferBytes(of uid: UInt32) -> Int? { broker.ledger.sendBufferBytes(of: uid) }

    /// The maximum number of bytes per read from a connection of the user.
    package func readLimit(of uid: UInt32) -> Int { broker.ledger.readLimit(of: uid) }
}
