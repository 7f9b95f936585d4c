import NIOCore

/// How many bytes all connections together read in a turn of the event loop: what is read is in memory, and takes time, before
/// anybody's limits are looked at. Once it is used up, every connection reads a little.
struct ReadBudget {
    private static let bytesPerTurn = 4 << 20
    private static let leastBytes = 1 << 10

    private var bytesLeft = bytesPerTurn

    mutating func turnBegan() { bytesLeft = Self.bytesPerTurn }

    mutating func hasRead(_ bytes: Int) { bytesLeft -= bytes }

    /// So many bytes may be read for one connection.
    var limit: Int { max(bytesLeft, Self.leastBytes) }
}

/// Sizes a connection's read buffers by what was read before, within what its user and the turn allow.
struct BudgetedReadAllocator: RecvByteBufferAllocator {
    private var adaptive = AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 1024, maximum: 256 << 10)
    private let driver: NIOLoopBound<BrokerDriver>
    private let uid: UInt32

    init(driver: NIOLoopBound<BrokerDriver>, uid: UInt32) {
        self.driver = driver
        self.uid = uid
    }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        allocator.buffer(capacity: size)
    }

    func nextBufferSize() -> Int? { size }

    mutating func record(actualReadBytes: Int) -> Bool {
        driver.value.readBudget.hasRead(actualReadBytes)
        return adaptive.record(actualReadBytes: actualReadBytes)
    }

    private var size: Int {
        min(adaptive.nextBufferSize() ?? adaptive.minimum, driver.value.readLimit(of: uid))
    }
}
