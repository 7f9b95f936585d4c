import DequeModule

/// A trace request whose message is not yet read from the log.
struct PendingTrace {
    let connection: ConnectionID
    let request: UInt64
    let sequence: UInt64
}

/// The traces that wait for their message. Each message is read by a page request of its own.
///
/// Reading from a connection is paused while its trace waits, so a connection has at most one trace.
struct Traces {
    private var waiting: Deque<PendingTrace> = []
    /// The trace whose message is being read.
    private(set) var reading: PendingTrace?

    /// Whether no trace waits.
    var isEmpty: Bool { waiting.isEmpty }

    mutating func append(_ trace: PendingTrace) {
        waiting.append(trace)
    }

    /// Removes the waiting trace of a connection that ends.
    mutating func remove(_ connection: ConnectionID) {
        if !waiting.isEmpty { waiting.removeAll { $0.connection == connection } }
    }

    /// Begins to read the message of the next trace.
    mutating func begin() -> PendingTrace? {
        reading = waiting.popFirst()
        return reading
    }

    /// Ends reading, and returns the trace whose message was read.
    mutating func finish() -> PendingTrace? { reading.take() }
}
