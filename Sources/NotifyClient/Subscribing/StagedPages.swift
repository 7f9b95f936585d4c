/// The messages of a log page that are still in the receive buffer, not yet copied.
struct StagedPages {
    /// The request that the page answers.
    private var request: UInt64 = 0
    private var messages = StagedMessages()
    private var region = 0..<0

    mutating func begin(_ request: UInt64) {
        self.request = request
    }

    mutating func append(_ entry: MessageBatch.Entry) {
        let end = Int(entry.offset) + Int(entry.length)
        region = (messages.isEmpty ? Int(entry.offset) : region.lowerBound)..<end
        messages.append(entry)
    }

    mutating func take(from read: UnsafeRawBufferPointer) -> (request: UInt64, batch: MessageBatch)? {
        guard !messages.isEmpty else { return nil }
        let copied = StagedMessages.Region(bytes: [UInt8](read[region]), start: region.lowerBound)
        return (request, messages.takeBatch(copied, read, nil))
    }
}
