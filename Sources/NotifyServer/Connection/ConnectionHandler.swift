import Glibc
import NIOCore
import NotifyBroker
import NotifyLog
import NotifySystem
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
    /// The channel, from `handlerAdded` to `handlerRemoved`. `context.channel` would look it up at each flush.
    private var channel: (any Channel)?
    /// The number of the socket; nil if the channel has none.
    private var socketNumber: CInt?
    /// Whether the broker lets the connection be read.
    private var isReading = true
    /// Whether bytes were read ahead of the channel. The channel must not read until ``endReadingAhead()`` is called.
    private var isReadAhead = false
    private var partial = PartialFrame()
    /// The bytes written since the last flush.
    private var unsent = UnsentOutput()
    /// The number of bytes written since the last flush.
    private var unflushedBytes = 0
    /// The memory that the socket used, at the last measurement, for sent bytes that the peer had not read.
    private var measuredBytes = 0
    /// An upper bound of the socket's memory for bytes written since the last measurement.
    private var unmeasuredBytes = 0
    /// The socket is measured again if at least this much memory was added, or if it held as much at the last
    /// measurement. Less is not charged.
    private static let measuringBytes = 4 << 10
    /// The memory that the kernel uses for a write of few bytes.
    private static let bytesPerWrite = 1 << 10
    /// The number of flushes whose last bytes wait in the channel for the socket.
    private var waitingFlushes = 0
    private var isFlushing = false
    /// Whether the connection will be closed once its written bytes are sent.
    private(set) var isClosing = false
    /// ``hasRoom`` is false once this number of bytes is unflushed. The number is small, because written bytes can't be
    /// dropped if the peer reads slowly.
    private static let writtenBytes = 128 << 10

    init(driver: BrokerDriver, peer: Peer) {
        self.driver = driver
        self.peer = peer
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        channel = context.channel
        socketNumber = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { $0 }
        id = driver.connectionOpened(peer, handler: self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        channel = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let read = unwrapInboundIn(data)
        process(partial.join(read))
        driver.releaseReadBuffer(read)
        driver.eventReceived()
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

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let id, case ChannelEvent.inputClosed? = event as? ChannelEvent, driver.inputEnded(id) {
            partial.removeAll()
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        socketNumber = nil
        if let id { driver.connectionClosed(id) }
        id = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The error is, for example, a reset by the peer.
        context.close(promise: nil)
    }

    // MARK: Reading ahead

    /// The socket from which ``readAhead()`` may read; nil if the connection must not be read.
    var readableDescriptor: CInt? { context != nil && isReading ? descriptor : nil }

    /// Reads the bytes that wait in the socket, ahead of the channel.
    ///
    /// The event loop may already have an event for these bytes. The channel ignores such an event, because its reading
    /// is paused.
    func readAhead() {
        guard let descriptor = readableDescriptor else { return }
        if !isReadAhead {
            isReadAhead = true
            setChannelReading(false)
            driver.hasReadAhead(self)
        }
        var buffer = driver.takeReadBuffer(for: peer.identity.uid, isReadingToEnd: false)
        let count = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 1) { bytes in
            max(0, recv(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT)))
        }
        driver.readBudget.spend(count)
        if count > 0 { process(partial.join(buffer)) }
        driver.releaseReadBuffer(buffer)
    }

    /// Lets the channel read again.
    func endReadingAhead() {
        isReadAhead = false
        if isReading { setChannelReading(true) }
    }

    /// The socket; nil if the channel has none, or has closed it: then its number may be that of another file.
    private var descriptor: CInt? {
        guard let socketNumber, let channel, channel.isActive else { return nil }
        return socketNumber
    }

    // MARK: For the driver

    var hasRoom: Bool { !isBlocked && unflushedBytes < Self.writtenBytes }

    var isBlocked: Bool { waitingFlushes > 0 || context == nil }

    func write(_ bytes: ByteBuffer) {
        unflushedBytes += bytes.readableBytes
        unsent.append(bytes)
    }

    var socketBytes: Int {
        guard max(unmeasuredBytes, measuredBytes) >= Self.measuringBytes, context != nil else { return measuredBytes }
        unmeasuredBytes = 0
        measuredBytes = descriptor.map { SocketMemory.unreadBytes(of: $0) } ?? 0
        return measuredBytes
    }

    /// Sends the written bytes: straight to the socket, unless the channel still holds earlier bytes. The channel gets
    /// the bytes that the socket does not take, and sends them when the socket has room.
    func flush() {
        unmeasuredBytes += unflushedBytes + Self.bytesPerWrite
        unflushedBytes = 0
        guard let context else { return unsent.removeAll() }
        var rest = if waitingFlushes == 0, let descriptor { unsent.send(to: descriptor) } else { unsent.take() }
        guard let last = rest.popLast() else { return }
        isFlushing = true
        defer { isFlushing = false }
        for bytes in rest { context.write(wrapOutboundOut(bytes), promise: nil) }
        // The channel's writability does not tell whether bytes wait: it may be writable while it holds one.
        waitingFlushes += 1
        let written = context.eventLoop.makePromise(of: Void.self)
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        written.futureResult.whenSuccess { handler.value.flushEnded() }
        context.writeAndFlush(wrapOutboundOut(last), promise: written)
    }

    /// Notes that the socket has taken the last bytes of a flush.
    private func flushEnded() {
        waitingFlushes -= 1
        // During a flush, the caller continues by itself.
        if waitingFlushes == 0, !isFlushing, let id { driver.connectionWritable(id) }
    }

    /// Closes the connection once all written bytes have been sent.
    func closeWhenFlushed() {
        guard let context, !isClosing else { return }
        isClosing = true
        flush()
        let written = context.eventLoop.makePromise(of: Void.self)
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        written.futureResult.whenComplete { _ in handler.value.close() }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    }

    /// Closes the connection. The peer can still read the bytes that were sent before.
    func close() {
        guard let context else { return }
        if let descriptor { driver.leave(descriptor, of: peer.identity.uid) }
        context.close(promise: nil)
    }

    /// Pauses or resumes reading. While paused, the peer's writes wait in the kernel's socket buffer.
    func setReading(_ isReading: Bool) {
        self.isReading = isReading
        if !isReadAhead { setChannelReading(isReading) }
    }

    private func setChannelReading(_ isReading: Bool) {
        // Setting the option fails if the channel was just closed. Nothing is read from a closed channel anyway.
        try? channel?.syncOptions?.setOption(.autoRead, value: isReading)
    }
}
