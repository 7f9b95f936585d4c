import NIOCore

/// The identity and size of a block of encoded messages that the outboxes of many connections share.
final class SharedBlock: Sendable {
    /// The memory of the block in bytes.
    let byteCount: Int
    init(_ buffer: ByteBuffer) {
        byteCount = max(4096, buffer.storageCapacity)
    }
}

/// The shared blocks kept alive by the connections of one user, each counted once.
final class RetainedBlocks {
    private var references: [ObjectIdentifier: Int] = [:]
    private(set) var byteCount = 0

    fileprivate func retain(_ block: SharedBlock) {
        references[ObjectIdentifier(block), default: 0] += 1
        if references[ObjectIdentifier(block)] == 1 { byteCount += block.byteCount }
    }

    fileprivate func release(_ block: SharedBlock) {
        let left = references[ObjectIdentifier(block), default: 0] - 1
        references[ObjectIdentifier(block)] = left == 0 ? nil : left
        if left == 0 { byteCount -= block.byteCount }
    }
}

/// Keeps a block counted in a user's `RetainedBlocks` for as long as this object exists.
final class BlockReference {
    private let block: SharedBlock
    private let blocks: RetainedBlocks

    init(_ block: SharedBlock, in blocks: RetainedBlocks) {
        self.block = block
        self.blocks = blocks
        blocks.retain(block)
    }

    deinit { blocks.release(block) }
}

/// The chunks that the host took from a connection's outbox.
final class TakenChunks {
    /// For slots without a connection. Never changed, so that brokers of different threads may share it.
    nonisolated(unsafe) static let none = TakenChunks()

    /// Chunks taken since the outbox was last settled.
    private var chunks: [Chunk] = []
    /// The shared blocks of chunks that wait for the socket.
    private var references: [BlockReference] = []
    /// The bytes charged for chunks without a shared block that wait for the socket.
    private(set) var ownBytes = 0
    /// Messages added to the outbox. Counted here because another property would make `Outbox` larger than 128 bytes.
    var messageCount: UInt64 = 0

    func append(_ chunk: Chunk) { chunks.append(chunk) }

    /// Releases sent chunks, and counts chunks that wait for the socket. The host takes nothing while a socket is
    /// blocked. If chunks were taken since the last call, all chunks taken before that call were therefore sent.
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
        releaseReferences()
    }

    private func releaseReferences() {
        references = []
        ownBytes = 0
    }
}
