import Glibc
import NotifyLog

/// Filling the pages of a segment again after some of its messages were deleted. SQLite merges pages only once two
/// thirds of them are free.
extension Log {
    /// Moves the remaining messages of a segment together, in the transaction that has deleted others: takes them out
    /// of the table, and inserts them again in order. This follows whenever a segment has lost about an eighth of its
    /// bytes, so that a segment is written a few times at most.
    ///
    /// Throws if SQLite can't read one of the messages: after that, it commits nothing more of the transaction.
    func pack(_ segment: Segment, bytesBefore: Int, _ statements: Statements) throws {
        // A segment of one large message has hardly any pages to share.
        guard segment.bytes <= 2 * options.segmentBytes, Self.level(segment.bytes) != Self.level(bytesBefore) else {
            return
        }
        try statements.messages.take.bind(1, segment.first)
        try statements.messages.take.bind(2, segment.last)
        try statements.messages.take.run()
        try delete(segment.first...segment.last, statements)
        try statements.messages.returnTaken.run()
        try statements.messages.forgetTaken.run()
    }

    /// The power of 9/8 below a number of bytes.
    private static func level(_ bytes: Int) -> Int { bytes > 0 ? Int(log(Double(bytes)) / log(9.0 / 8)) : -1 }
}
