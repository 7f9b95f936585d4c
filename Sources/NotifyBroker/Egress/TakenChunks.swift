/// The chunks that the host took from a connection's outbox.
final class TakenChunks {
    /// The value for slots without a connection. It is never changed, so brokers on different threads may share it.
    nonisolated(unsafe) static let none = TakenChunks()

    /// Chunks taken since the outbox was last settled.
    private var chunks: [Chunk] = []
    /// The shared blocks of chunks that wait for the socket.
    private var references: [BlockReference] = []
    /// The bytes charged for chunks without a shared block that wait for the socket.
    private(set) var ownBytes = 0
    /// Messages added to the outbox. Counted here because another property would make `Outbox` larger than 128 bytes.
    var messageCount: UInt64 = 0
    /// Bytes of messages in this tick's part of the outbox's own buffer. Counted here for the same reason.
    var copiedRunBytes = 0

    func append(_ chunk: Chunk) { chunks.append(chunk) }

    /// Releases sent chunks, and counts chunks that wait for the socket. The host takes nothing while a socket is
    /// blocked. So if chunks were taken since the last call, all earlier ones have been sent.
    func settle(isBlocked: Bool, in blocks: RetainedBlocks) {
        if !isBlocked || !chunks.isEmpty, ownBytes > 0 || !references.isEmpty { releaseReferences() }
        if isBlocked {
            for chunk in chunks {
                if let block = chunk.block {
                    references.append(chunk.reference ?? BlockReference(block, in: blocks))
                } else {
                    ownBytes += chunk.charge
                }
            }
        }
        chunks.removeAll(keepingCapacity: chunks.count <= 16)
    }

    func removeAll() {
        chunks = []
        copiedRunBytes = 0
        releaseReferences()
    }

    private func releaseReferences() {
        references = []
        ownBytes = 0
    }
}
