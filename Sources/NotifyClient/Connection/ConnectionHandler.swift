import NIOCore
import NotifyWire

/// Passes the channel's events to the core.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let core: ClientCore
    private var partial = PartialFrame()
    private var failure: (any Error)?

    init(core: ClientCore) {
        self.core = core
    }

    func channelActive(context: ChannelHandlerContext) {
        core.connected(context.channel)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var received = partial.join(unwrapInboundIn(data))
        let used = received.withUnsafeReadableBytes { core.received($0) }
        received.moveReaderIndex(forwardBy: used)
        partial.keep(received)
    }

    func channelInactive(context: ChannelHandlerContext) {
        partial.removeAll()
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
