import NIOCore

/// The buffer into which all connections of the event loop are read, one after the other. What a connection has to keep is
/// copied, so that idle connections hold no buffers.
struct ReadBuffer {
    /// The most that is read at once.
    static let capacity = 256 << 10

    private var spare: ByteBuffer?

    /// The buffer, empty, with room for `limit` bytes, which is at most the capacity.
    mutating func take(limit: Int) -> ByteBuffer {
        var buffer = spare.take() ?? ByteBuffer()
        // Where a part of it is still in use, this allocates.
        buffer.clear(minimumCapacity: Self.capacity)
        buffer.moveWriterIndex(to: buffer.capacity - limit)
        buffer.moveReaderIndex(to: buffer.writerIndex)
        return buffer
    }

    mutating func giveBack(_ buffer: ByteBuffer) {
        if buffer.storageCapacity >= Self.capacity { spare = buffer }
    }
}

/// Has a connection read into the loop's buffer, as much as its user and the turn allow.
///
/// A channel keeps the first buffer that it is given for as long as it is open, so that one is small. It asks for another at
/// each read because no size is named and each read is said to need a larger one.
struct SharedReadAllocator: RecvByteBufferAllocator {
    private static let firstCapacity = 1 << 10

    private let driver: NIOLoopBound<BrokerDriver>
    private let uid: UInt32
    private var hasRead = false

    init(driver: NIOLoopBound<BrokerDriver>, uid: UInt32) {
        self.driver = driver
        self.uid = uid
    }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        guard hasRead else { return allocator.buffer(capacity: Self.firstCapacity) }
        return driver.value.takeReadBuffer(for: uid)
    }

    func nextBufferSize() -> Int? { nil }

    mutating func record(actualReadBytes: Int) -> Bool {
        hasRead = true
        driver.value.readBudget.hasRead(actualReadBytes)
        return true
    }
}
