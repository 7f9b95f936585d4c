import NIOCore

/// The identity and size of a block of encoded messages that the outboxes of many connections share.
final class SharedBlock: Sendable {
    /// The memory charged for the block, in bytes; at least 4096.
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
