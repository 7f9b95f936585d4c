/// How many bytes all connections together read in a turn of the event loop: what is read takes time before anybody's limits
/// are looked at. Once it is used up, every connection reads a little.
struct ReadBudget {
    private static let bytesPerTurn = 4 << 20
    private static let leastBytes = 1 << 10

    private var bytesLeft = bytesPerTurn

    mutating func turnBegan() { bytesLeft = Self.bytesPerTurn }

    mutating func hasRead(_ bytes: Int) { bytesLeft -= bytes }

    /// So many bytes may be read for one connection.
    var limit: Int { max(bytesLeft, Self.leastBytes) }
}
