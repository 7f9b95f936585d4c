import DequeModule
import NIOCore

extension Deque<Chunk> {
    /// Returns the chunks with only the latest message of each name and object. Gaps replace the other messages, as in
    /// ``Outbox/keepLatest()``.
    ///
    /// - Returns: The chunks, and the number of dropped messages.
    func keepingLatest() -> (chunks: Deque<Chunk>, dropped: UInt64) {
        var latest = LatestMessages()
        for chunk in self where chunk.isDroppable { latest.note(chunk.bytes) }
        var (chunks, dropped): (Deque<Chunk>, UInt64) = ([], 0)
        var section = LatestMessages.Section()
        for chunk in self {
            switch chunk.content {
            case .droppable: dropped += latest.reduce(chunk.bytes, into: &section)
            case .gap(let earlier): section.dropped = section.dropped.map { $0 + earlier } ?? earlier
            case .answer, .run:
                chunks.append(section)
                section = LatestMessages.Section()
                chunks.append(chunk)
            }
        }
        chunks.append(section)
        return (chunks, dropped)
    }

    private mutating func append(_ section: LatestMessages.Section) {
        if let dropped = section.dropped { append(.gap(dropped)) }
        guard let content = section.content else { return }
        append(Chunk(content: .droppable(content), bytes: section.bytes, charge: section.bytes.capacity))
    }
}
