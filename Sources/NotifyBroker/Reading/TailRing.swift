import Algorithms
import NIOCore
import DequeModule
import NotifyLog
import NotifyWire

/// The newest committed messages, encoded, for log readers near the tail.
struct TailRing {
    private static let overheadBytes = 128

    private var blocks: Deque<LogBlock> = []
    private(set) var bytes = 0
    private(set) var capacityBytes: Int
    /// Every committed message with a sequence above this is in the ring.
    private(set) var floor: UInt64

    init(capacityBytes: Int, floor: UInt64) {
        self.capacityBytes = capacityBytes
        self.floor = floor
    }

    mutating func append(_ block: LogBlock) {
        guard !block.entries.isEmpty else { return }
        blocks.append(block)
        bytes += Self.charge(block)
        shrink()
    }

    /// Sets the capacity, and evicts the oldest blocks until the others fit.
    mutating func limit(toBytes capacity: Int) {
        capacityBytes = capacity
        shrink()
    }

    /// Evicts the blocks that contain messages up to `sequence`. Must be called when these messages were deleted, so
    /// that no reader delivers them any more.
    mutating func evict(through sequence: UInt64) {
        while let first = blocks.first?.entries.first, first.sequence <= sequence { evictOldest() }
    }

    private mutating func shrink() {
        while bytes > capacityBytes, !blocks.isEmpty { evictOldest() }
    }

    private mutating func evictOldest() {
        let oldest = blocks.removeFirst()
        bytes -= Self.charge(oldest)
        floor = oldest.entries.last?.sequence ?? floor
    }

    /// The blocks with messages above `position`, each with the index of the first entry above `position`.
    func blocks(after position: UInt64) -> some Sequence<(block: LogBlock, firstEntry: Int)> {
        let first = blocks.partitioningIndex { ($0.entries.last?.sequence ?? 0) > position }
        return blocks[first...].lazy.map { block in
            (block, block.entries.partitioningIndex { $0.sequence > position })
        }
    }

    private static func charge(_ block: LogBlock) -> Int {
        block.frames.capacity + block.entries.capacity * MemoryLayout<LogBlock.Entry>.stride + overheadBytes
    }
}
