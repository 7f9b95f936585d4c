import NIOCore

/// A block of encoded messages that the outboxes of many connections refer to.
final class SharedBlock: Sendable {
    /// What it takes in memory.
    let byteCount: Int
    init(_ buffer: ByteBuffer) {
        byteCount = max(4096, buffer.storageCapacity)
    }
}

/// The shared blocks that the connections of one user keep alive, each counted once however many of them do.
final class HeldBlocks {
    private var holds: [ObjectIdentifier: Int] = [:]
    private(set) var byteCount = 0

    fileprivate func hold(_ block: SharedBlock) {
        holds[ObjectIdentifier(block), default: 0] += 1
        if holds[ObjectIdentifier(block)] == 1 { byteCount += block.byteCount }
    }

    fileprivate func release(_ block: SharedBlock) {
        let left = holds[ObjectIdentifier(block), default: 0] - 1
        holds[ObjectIdentifier(block)] = left == 0 ? nil : left
        if left == 0 { byteCount -= block.byteCount }
    }
}

/// Counts a block among those that a user's connections keep alive, for as long as this exists.
final class BlockHold {
    private let block: SharedBlock
    private let blocks: HeldBlocks

    init(_ block: SharedBlock, in blocks: HeldBlocks) {
        self.block = block
        self.blocks = blocks
        blocks.hold(block)
    }

    deinit { blocks.release(block) }
}

/// What the host took of one connection's outbox.
final class TakenChunks {
    /// Since the outbox was last settled.
    private var chunks: [Chunk] = []
    /// Of what waits for the socket.
    private var holds: [BlockHold] = []
    /// Of what waits for the socket, the bytes that are no shared block's.
    private(set) var ownBytes = 0

    func append(_ chunk: Chunk) { chunks.append(chunk) }

    /// What was taken is sent, or waits for the socket. What was taken earlier is sent if more was taken: the host takes
    /// nothing while something waits.
    func settle(isBlocked: Bool, in blocks: HeldBlocks) {
        if !isBlocked || !chunks.isEmpty, ownBytes > 0 || !holds.isEmpty { removeHeld() }
        if isBlocked {
            for chunk in chunks {
                if let block = chunk.block {
                    holds.append(chunk.hold ?? BlockHold(block, in: blocks))
                } else {
                    ownBytes += chunk.charge
                }
            }
        }
        chunks.removeAll(keepingCapacity: chunks.count <= 16)
    }

    func removeAll() {
        chunks = []
        removeHeld()
    }

    private func removeHeld() {
        holds = []
        ownBytes = 0
    }
}
