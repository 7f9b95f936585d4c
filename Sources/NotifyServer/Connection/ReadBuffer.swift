import NIOCore

/// The receive buffer that the connections of the event loop use one after another. A connection copies the bytes that
/// it keeps, so idle connections hold no buffers.
struct ReadBuffer {
    /// The size limit of a read in bytes.
    static let capacity = 256 << 10

    private var spare: ByteBuffer?

    /// Returns the buffer, empty and with room for `limit` bytes.
    ///
    /// - Parameter limit: At most ``capacity``.
    mutating func take(limit: Int) -> ByteBuffer {
        var buffer = spare.take() ?? ByteBuffer()
        // Allocates if a slice of the buffer is still in use.
        buffer.clear(minimumCapacity: Self.capacity)
        buffer.moveWriterIndex(to: buffer.capacity - limit)
        buffer.moveReaderIndex(to: buffer.writerIndex)
        return buffer
    }

    mutating func release(_ buffer: ByteBuffer) {
        if buffer.storageCapacity >= Self.capacity { spare = buffer }
    }
}

/// Makes a channel read into the shared ``ReadBuffer``, within the limit of the connection's user and the
/// ``ReadBudget`` of the event loop's turn.
///
/// A channel reads once per turn. When the peer closes the connection, NIO reads everything that waits in the socket,
/// even while reading is paused. From the second read of a turn on, the reads are therefore as large as possible: with
/// reads of 1 KiB, 100 connections that are closed with full sockets would hold up the loop for 60 ms.
///
/// Because `nextBufferSize` returns `nil` and `record` returns `true`, the channel asks for a new buffer before each
/// read. The channel still retains its first buffer until the channel is closed, so the first buffer is small.
struct SharedReadAllocator: RecvByteBufferAllocator {
    private static let firstCapacity = 1 << 10

    private let driver: NIOLoopBound<BrokerDriver>
    private let uid: UInt32
    private var hasRead = false
    private var turnOfLastRead = -1

    init(driver: NIOLoopBound<BrokerDriver>, uid: UInt32) {
        self.driver = driver
        self.uid = uid
    }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        guard hasRead else { return allocator.buffer(capacity: Self.firstCapacity) }
        let driver = driver.value
        return driver.takeReadBuffer(for: uid, isReadingToEnd: driver.readBudget.turn == turnOfLastRead)
    }

    func nextBufferSize() -> Int? { nil }

    mutating func record(actualReadBytes: Int) -> Bool {
        hasRead = true
        turnOfLastRead = driver.value.readBudget.turn
        driver.value.readBudget.spend(actualReadBytes)
        return true
    }
}
