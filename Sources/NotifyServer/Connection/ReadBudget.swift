/// Limits how many bytes all connections together read in a turn of the event loop, because reading takes time before
/// any user's limits are checked. Once the budget is used up, a connection may still read 1 KiB at a time.
struct ReadBudget {
    private static let bytesPerTurn = 4 << 20
    private static let minimumBytes = 1 << 10

    private var bytesLeft = bytesPerTurn

    mutating func turnBegan() { bytesLeft = Self.bytesPerTurn }

    mutating func spend(_ bytes: Int) { bytesLeft -= bytes }

    /// How many bytes the next read of a connection may take.
    var limit: Int { max(bytesLeft, Self.minimumBytes) }
}
