import NotifyLog
import NotifyWire

extension CurrentLog {
    /// Finds the first message posted at `microseconds` or later. If there is no log yet, nothing is stored.
    func findSequence(atOrAfter microseconds: UInt64) -> Result<UInt64, StorageFailure> {
        log?.findSequence(atOrAfter: microseconds) ?? .success(1)
    }
}

extension Log {
    /// Finds the first stored message that was posted at `microseconds` since 1970 or later.
    ///
    /// Bisects the primary key, which reads at most 54 rows, because sequences stay below ``Limits/sequenceEnd``. Times
    /// ascend with sequences, except where the wall clock was set back. In that case, the result is one of the messages
    /// of that time or later whose predecessor has an earlier time.
    ///
    /// - Returns: The sequence of the message, or the sequence after the last stored message if there is none.
    func findSequence(atOrAfter microseconds: UInt64) -> Result<UInt64, StorageFailure> {
        do {
            _ = try openStatements()
            let first = try PreparedStatement(
                connection,
                "SELECT sequence, time FROM messages WHERE sequence BETWEEN ? AND ? ORDER BY sequence LIMIT 1")
            // Every message below `low` is earlier than the time. The message at `high` is not, or `high` is the end of
            // the log.
            var (low, high): (UInt64, UInt64) = (1, persistedThrough + 1)
            while low < high {
                let middle = low + (high - low) / 2
                // Skips sequences without a message.
                guard let row = try first.row(from: middle, below: high), row.time < microseconds else {
                    high = middle
                    continue
                }
                low = row.sequence + 1
            }
            // There may be no message at `high` itself.
            return .success(try first.row(from: high, below: persistedThrough + 1)?.sequence ?? persistedThrough + 1)
        } catch {
            return .failure(failure(error))
        }
    }
}

extension PreparedStatement {
    /// The first message with a sequence from `first` to `end`, exclusive; nil if there is none.
    fileprivate func row(from first: UInt64, below end: UInt64) throws -> (sequence: UInt64, time: UInt64)? {
        guard first < end else { return nil }
        try bind(1, first)
        try bind(2, end - 1)
        defer { reset() }
        return try step() ? (integer(0), integer(1)) : nil
    }
}
