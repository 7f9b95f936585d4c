import NIOCore
import NotifyBroker
import NotifyWire

/// Connects a channel to the broker: passes received bytes to the driver, and keeps an incomplete frame until the rest
/// of it arrives.
final class ConnectionHandler: ChannelInboundHandler, OutputSink {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let driver: BrokerDriver
    private let peer: Peer
    private(set) var id: ConnectionID?
    private var context: ChannelHandlerContext?
    private var partial = PartialFrame()
    /// The number of bytes written since the last flush.
    private var unflushedBytes = 0
    /// Whether flushed bytes wait for the socket.
    private var isWaitingForSocket = false
    /// ``hasRoom`` is false once this number of bytes is unflushed. The number is small, because written bytes can't be
    /// dropped if the peer reads slowly.
    private static let writtenBytes = 128 << 10

    init(driver: BrokerDriver, peer: Peer) {
        self.driver = driver
        self.peer = peer
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        id = driver.connectionOpened(peer, handler: self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let read = unwrapInboundIn(data)
        process(partial.join(read))
        driver.releaseReadBuffer(read)
        driver.scheduleTick()
    }

    /// Processes the remaining received bytes. The tick calls this method at the connection's turn.
    func continueReceiving() {
        process(partial.take())
    }

    private func process(_ bytes: ByteBuffer) {
        guard let id else { return }
        var received = bytes
        let used = received.withUnsafeReadableBytes { driver.bytesReceived($0, from: id) }
        received.moveReaderIndex(forwardBy: used)
        partial.keep(received)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if isWaitingForSocket, context.channel.isWritable, let id {
            isWaitingForSocket = false
            driver.connectionWritable(id)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let id { driver.connectionClosed(id) }
        id = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The error is, for example, a reset by the peer.
        context.close(promise: nil)
    }

    // MARK: For the driver

    var hasRoom: Bool { !isBlocked && unflushedBytes < Self.writtenBytes }

    var isBlocked: Bool { isWaitingForSocket || context == nil }

    func write(_ bytes: ByteBuffer) {
        unflushedBytes += bytes.readableBytes
        context?.write(wrapOutboundOut(bytes), promise: nil)
    }

    func flush() {
        unflushedBytes = 0
        context?.flush()
        // The channel's write-buffer water mark is one byte, so it is writable only if no bytes wait for the socket.
        isWaitingForSocket = !(context?.channel.isWritable ?? false)
    }

    /// Closes the connection once all written bytes have been sent.
    func closeWhenFlushed() {
        guard let context else { return }
        let written = context.eventLoop.makePromise(of: Void.self)
        let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
        written.futureResult.whenComplete { _ in loopBound.value.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    }

    func close() {
        context?.close(promise: nil)
    }

    /// Pauses or resumes reading. While paused, the peer's writes wait in the kernel's socket buffer.
    func setReading(_ isReading: Bool) {
        guard let channel = context?.channel else { return }
        // This fails if the channel has just closed; nothing is read from a closed channel anyway.
        try? channel.syncOptions?.setOption(.autoRead, value: isReading)
    }
}
