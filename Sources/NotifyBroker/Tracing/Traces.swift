import DequeModule
import NotifyLog

/// A trace whose message is not yet read from the log.
struct PendingTrace {
    let connection: ConnectionID
    let request: UInt64
    let sequence: UInt64
}

/// The traces that wait for their message. One message is read at a time, by a page request of its own. These requests
/// alternate with the page requests of log readers.
///
/// Reading from a connection is paused while its trace waits, so a connection has at most one trace.
struct Traces {
    private var waiting: Deque<PendingTrace> = []
    /// The trace whose message is being read.
    private(set) var reading: PendingTrace?
    /// Whether log readers that wait for a page take precedence over the next trace.
    private(set) var yieldsToReaders = false

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
        yieldsToReaders = true
        return reading
    }

    /// Ends reading, and returns the trace whose message was read.
    mutating func finish() -> PendingTrace? { reading.take() }

    /// Gives precedence to the next trace, because log readers have had their turn.
    mutating func readerServed() {
        yieldsToReaders = false
    }
}

extension ReaderID {
    /// Marks the page of a trace. No log reader has this id.
    static let trace = ReaderID(slot: -1, generation: 0)
}
