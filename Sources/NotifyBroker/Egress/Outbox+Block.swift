import NIOCore
import NotifyLog

extension Outbox {
    /// Appends all deliver frames of a block as bytes that must arrive. The source must hold these frames and nothing
    /// else.
    mutating func append(_ block: LogBlock, in source: UInt32) {
        let bytes = block.frames.readableBytes
        noteRun(bytes: UInt32(clamping: bytes))
        begin(
            OutboxSpan(
                source: source, isAnswer: true, start: 0, end: bytes, droppable: 0,
                durable: UInt32(block.entries.count), first: 0, last: 0))
    }
}
