/// The messages of one subscription that are still in the receive buffer, not yet copied.
struct StagedMessages {
    /// A copy of the part of a read that holds the staged messages of all subscriptions.
    struct Region {
        var bytes: [UInt8]
        /// The offset of the copied part in the read.
        var start: Int
    }

    /// Offsets count from the beginning of the read.
    private var entries: [MessageBatch.Entry] = []
    private var byteCount = 0

    var isEmpty: Bool { entries.isEmpty }

    mutating func append(_ entry: MessageBatch.Entry) {
        entries.append(entry)
        byteCount += Int(entry.length) + MessageBatch.headerBytes
    }

    /// Takes the messages as a batch. The batch shares the copied region if the messages make up at least half of it;
    /// otherwise it has a copy of its own.
    mutating func takeBatch(
        _ shared: Region, _ read: UnsafeRawBufferPointer, _ acknowledgements: MessageBatch.Acknowledgements?
    ) -> MessageBatch {
        var (entries, byteCount, bytes) = (entries, byteCount, shared.bytes)
        self = StagedMessages()
        if byteCount * 2 >= bytes.count {
            for index in entries.indices { entries[index].offset -= UInt32(shared.start) }
        } else {
            bytes = []
            bytes.reserveCapacity(byteCount)
            for index in entries.indices {
                let start = Int(entries[index].offset)
                entries[index].offset = UInt32(bytes.count)
                bytes.append(contentsOf: read[start..<start + Int(entries[index].length)])
            }
        }
        return MessageBatch(
            bytes: bytes, entries: entries, byteCount: byteCount, acknowledgements: acknowledgements)
    }
}
