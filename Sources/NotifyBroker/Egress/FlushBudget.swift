/// The work of flushing outboxes and of closing connections, in the units of ``FairScheduler``.
///
/// A turn of the event loop has a budget, and each connection has a slice of it. The rest is flushed or closed in later
/// turns.
struct FlushBudget {
    /// The budget of a turn, about 10 ms.
    static let unitsPerTurn = 1 << 19
    /// The work for one connection before the next one is served: about 256 KiB.
    static let slice = 1 << 13
    /// Bytes written to a socket cost 1 unit per 32 bytes, computed as a shift by 5 bits.
    static let bytesShift = 5
    /// The cost of a connection that is settled but not flushed.
    static let settling = 32

    /// The total work done.
    private(set) var spent = 0
    private var turnEnd = 0
    private var sliceEnd = 0

    var isTurnOver: Bool { spent >= turnEnd }
    var isSliceOver: Bool { spent >= sliceEnd }

    mutating func beginTurn() { turnEnd = spent + Self.unitsPerTurn }

    /// Begins the slice of a connection. The slice is empty if the budget of the turn is used up.
    mutating func beginSlice() {
        sliceEnd = min(spent + Self.slice, turnEnd)
        spent += FairScheduler.Cost.flush
    }

    /// Begins an empty slice.
    mutating func beginSettling() {
        spent += Self.settling
        sliceEnd = spent
    }

    mutating func spend(_ units: Int) { spent += units }
}
