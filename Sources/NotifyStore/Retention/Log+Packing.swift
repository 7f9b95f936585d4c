import Glibc
import NotifyLog

/// Filling the pages of a segment again after some of its messages were deleted. SQLite merges a page with its
/// neighbours only once two thirds of the page are empty.
extension Log {
    /// Moves the remaining messages of a segment together, in the transaction that has deleted the others: takes them
    /// out of the table, and inserts them again in order. Does so only each time that the segment has lost about an
    /// eighth of its bytes, so that all rewrites of a segment together move at most about eight times its bytes.
    ///
    /// Throws if SQLite can't read one of the messages, because SQLite then no longer commits the transaction.
    func pack(_ segment: Segment, bytesBefore: Int, _ statements: Statements) throws {
        // A segment larger than that consists of one large message, which shares hardly any page.
        guard segment.bytes <= 2 * options.segmentBytes, Self.level(segment.bytes) != Self.level(bytesBefore) else {
            return
        }
        try statements.messages.take.bind(1, segment.first)
        try statements.messages.take.bind(2, segment.last)
        try statements.messages.take.run()
        try statements.messages.delete.bind(1, segment.first)
        try statements.messages.delete.bind(2, segment.last)
        try statements.messages.delete.run()
        try statements.messages.returnTaken.run()
        try statements.messages.forgetTaken.run()
    }

    /// The exponent of the highest power of 9/8 that does not exceed a number of bytes.
    private static func level(_ bytes: Int) -> Int { bytes > 0 ? Int(log(Double(bytes)) / log(9.0 / 8)) : -1 }
}
