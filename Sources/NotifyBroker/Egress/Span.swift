/// A stretch of bytes bound for one connection, in one of the sources that are being written in this tick.
///
/// It holds no reference: sources are still growing, and slicing one that grows would copy it.
struct Span {
    /// The connection's own buffer: answers, run headers, gaps.
    static let own = UInt32.max
    /// The tick's volatile messages.
    static let volatileMessages: UInt32 = 0
    /// The tick's messages for the log.
    static let logMessages: UInt32 = 1
    /// Sources that are complete: blocks of the tail ring and pages.
    static let firstComplete: UInt32 = 2

    /// Where an encoded message lies.
    struct Place {
        var source: UInt32
        var start: Int
        var end: Int
    }

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
