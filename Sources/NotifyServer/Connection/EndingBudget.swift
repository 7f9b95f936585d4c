/// A limit on the connections that end, or are half-closed by their peers, before the others are served.
///
/// The event loop handles every event of a poll before it runs a task such as a tick. The end of a connection takes the
/// loop about 15 µs, mostly in NIO and in the kernel, so thousands that end together would hold up all others.
struct EndingBudget {
    static let connectionsPerTurn = 1024
    /// The bytes that can be read in the time of ending a connection. They count, because the loop reads the input of a
    /// half-closed connection to its end.
    private static let bytesPerConnection = 16 << 10

    private var ended = 0

    mutating func turnBegan() { ended = 0 }

    /// - Parameter bytes: The number of bytes that were read and are not processed yet.
    mutating func connectionEnded(afterReading bytes: Int = 0) { ended += 1 + bytes / Self.bytesPerConnection }

    /// Whether other connections must be served before more end.
    var isUsedUp: Bool { ended >= Self.connectionsPerTurn }
}
