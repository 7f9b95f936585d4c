import NIOCore
import NotifyBroker
import NotifyWire

/// One connection's end of the channel: hands its bytes to the driver, and keeps the beginning of a frame until the rest
/// of it has come.
final class ConnectionHandler: ChannelInboundHandler, OutputSink {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let driver: BrokerDriver
    private let peer: Peer
    private(set) var id: ConnectionID?
    private var context: ChannelHandlerContext?
    private var partial = PartialFrame()
    /// Bytes written since the last flush.
    private var unflushedBytes = 0
    /// What was flushed waits for the socket.
    private var isHeld = false
    /// Bytes that are written at once: they can't be dropped any more if the socket does not take them.
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
        driver.giveBackReadBuffer(read)
        driver.scheduleTick()
    }

    /// It is the connection's turn, in a tick, to have the rest of what it sent processed.
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
        if isHeld, context.channel.isWritable, let id {
            isHeld = false
            driver.connectionWritable(id)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let id { driver.connectionClosed(id) }
        id = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A reset by the peer: it is gone, and so is the connection.
        context.close(promise: nil)
    }

    // MARK: For the driver

    var hasRoom: Bool { !isBlocked && unflushedBytes < Self.writtenBytes }

    var isBlocked: Bool { isHeld || context == nil }

    func write(_ bytes: ByteBuffer) {
        unflushedBytes += bytes.readableBytes
        context?.write(wrapOutboundOut(bytes), promise: nil)
    }

    func flush() {
        unflushedBytes = 0
        context?.flush()
        // The channel is writable exactly if nothing waits: its limit is one byte.
        isHeld = !(context?.channel.isWritable ?? false)
    }

    /// Closes once everything written so far has gone out.
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

    /// Reads no more from the socket until told to: the peer's writes wait in the kernel.
    func setReading(_ isReading: Bool) {
        guard let channel = context?.channel else { return }
        // Setting an option of a channel that has just closed fails, and then nothing is read from it anyway.
        try? channel.syncOptions?.setOption(.autoRead, value: isReading)
    }
}
