import NIOCore

/// How many bytes all connections together read in a turn of the event loop: what is read is in memory, and takes time, before
/// anybody's limits are looked at.
///
/// Used on the event loop alone.
final class ReadBudget: @unchecked Sendable {
    private static let bytesPerTurn = 4 << 20
    /// Received bytes that may wait to be processed before only little is read.
    private static let waitingBytes = 32 << 20

    private(set) var bytesLeft = bytesPerTurn

    /// - Parameter waitingBytes: What all connections have received that was not processed yet.
    func turnBegan(waitingBytes: Int) {
        bytesLeft = min(Self.bytesPerTurn, Self.waitingBytes - waitingBytes)
    }

    func hasRead(_ bytes: Int) { bytesLeft -= bytes }
}

/// Sizes a connection's read buffers by what was read before, and keeps to the turn's budget: once that is used up, every
/// connection reads a little.
struct BudgetedReadAllocator: RecvByteBufferAllocator {
    private static let leastBytes = 1 << 10

    private var adaptive = AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 1024, maximum: 256 << 10)
    private let budget: ReadBudget

    init(budget: ReadBudget) {
        self.budget = budget
    }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        allocator.buffer(capacity: size)
    }

    func nextBufferSize() -> Int? { size }

    mutating func record(actualReadBytes: Int) -> Bool {
        budget.hasRead(actualReadBytes)
        return adaptive.record(actualReadBytes: actualReadBytes)
    }

    private var size: Int {
        let wanted = adaptive.nextBufferSize() ?? Self.leastBytes
        return budget.bytesLeft >= wanted ? wanted : min(wanted, Self.leastBytes)
    }
}
