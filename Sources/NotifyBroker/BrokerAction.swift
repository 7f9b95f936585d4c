package import NotifyLog
package import NotifyWire

/// What the shell is to do for the broker, in order. Bytes to send are not among them: they are taken from the
/// outboxes of the connections that `touchedConnections` names.
package enum BrokerAction: Sendable {
    case commit(CommitBatch)
    case readPage(PageRequest)
    /// Close now; the broker has forgotten the connection.
    case close(ConnectionID)
    /// Read no more from the connection until told.
    case pauseReading(ConnectionID)
    case resumeReading(ConnectionID)
    /// Storage failed (a message for people) or works again (nil).
    case storageHealthChanged(problem: String?)
    /// There is work left for the next tick even if nothing happens.
    case continueSoon
    /// Everything is committed and every connection has been told: nothing more will come.
    case drained
}

/// One connection, not to be mistaken for a later one in the same place.
package struct ConnectionID: Hashable, Sendable {
    package let slot: Int32
    package let generation: UInt32

    package init(slot: Int32, generation: UInt32) {
        self.slot = slot
        self.generation = generation
    }
}

/// Who is at the other end, as the kernel says.
package struct Peer: Equatable, Sendable {
    package var uid: UInt32
    package var gid: UInt32
    package var pid: UInt32

    package init(uid: UInt32, gid: UInt32, pid: UInt32) {
        self.uid = uid
        self.gid = gid
        self.pid = pid
    }
}
