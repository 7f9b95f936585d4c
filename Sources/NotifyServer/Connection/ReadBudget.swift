/// A limit on the bytes that all connections together read in a turn of the event loop. Reading takes time, and the
/// limits of a user are checked only after a read. Once the budget is used up, a connection may still read 1 KiB at a
/// time.
struct ReadBudget {
    private static let bytesPerTurn = 4 << 20
    private static let minimumBytes = 1 << 10

    private var bytesLeft = bytesPerTurn
    /// The number of the turn.
    private(set) var turn = 0

    mutating func turnBegan() {
        bytesLeft = Self.bytesPerTurn
        turn += 1
    }

    mutating func spend(_ bytes: Int) { bytesLeft -= bytes }

    /// The size limit of the next read in bytes.
    var limit: Int { max(bytesLeft, Self.minimumBytes) }
}
