/// A stretch of bytes bound for one connection, in one of the sources that are being written in this tick.
///
/// It holds no reference: sources are still growing, and slicing one that grows would copy it.
struct Span {
    /// The connection's own buffer: answers, run headers, gaps.
    static let own = UInt32.max
    /// Where an encoded message lies.
    struct Place {
        var source: UInt32
        var start: Int
        var end: Int
    }

    /// `own`, or the number of one of the tick's sources.
    var source: UInt32
    var start: Int
    var end: Int
    /// Messages that may be dropped when the connection is slow; 0 where the bytes must arrive.
    var droppable: UInt32
    /// Messages of a durable run, for counting.
    var durable: UInt32
    /// Sequences of the first and last droppable message.
    var first: UInt64
    var last: UInt64

    static let none = Span(source: own, start: 0, end: 0, droppable: 0, durable: 0, first: 0, last: 0)
}
