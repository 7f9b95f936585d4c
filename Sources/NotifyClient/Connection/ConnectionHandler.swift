import NIOCore

/// Passes the channel's events to the core.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let core: ClientCore
    /// The beginning of a frame whose rest has not come. The machine bounds it by refusing longer frames.
    private var partial: ByteBuffer?
    private var failure: (any Error)?

    init(core: ClientCore) {
        self.core = core
    }

    func channelActive(context: ChannelHandlerContext) {
        core.connected(context.channel)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var incoming = unwrapInboundIn(data)
        if var joined = partial.take() {
            joined.writeBuffer(&incoming)
            incoming = joined
        }
        let used = incoming.withUnsafeReadableBytes { core.received($0) }
        incoming.moveReaderIndex(forwardBy: used)
        if incoming.readableBytes > 0 { keep(incoming) }
    }

    /// A few bytes must not hold on to all of a large buffer, and a large frame must not be copied for every read.
    private func keep(_ rest: ByteBuffer) {
        var rest = rest
        if rest.readerIndex > 0 { rest = ByteBuffer(bytes: rest.readableBytesView) }
        partial = rest
    }

    func channelInactive(context: ChannelHandlerContext) {
        partial = nil
        core.disconnected(failure)
        failure = nil
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { core.flush(context.channel) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        failure = failure ?? error
        context.close(promise: nil)
    }
}
