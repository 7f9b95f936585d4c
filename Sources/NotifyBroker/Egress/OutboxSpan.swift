/// A range of bytes for one connection, in one of the tick's sources.
///
/// A span holds no slice of its source. The source may still grow, and appending to a buffer copies the buffer if a
/// slice of it is held.
struct OutboxSpan {
    /// The source of the connection's own buffer, which holds answers and runs.
    static let own = UInt32.max
    /// The range of an encoded message in a source.
    struct SourceRange {
        var source: UInt32
        var start: Int
        var end: Int
    }

    /// `own`, or the index of one of the tick's sources.
    var source: UInt32
    /// Whether the bytes answer a request.
    var isAnswer = false
    var start: Int
    var end: Int
    /// The number of droppable messages in the span; 0 if the bytes must arrive.
    var droppable: UInt32
    /// The number of stored messages in the span, for statistics.
    var durable: UInt32
    /// The sequences of the first and last droppable message.
    var first: UInt64
    var last: UInt64

    static let none = OutboxSpan(source: own, start: 0, end: 0, droppable: 0, durable: 0, first: 0, last: 0)
}
