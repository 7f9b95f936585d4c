import Logging
import NIOCore

/// Stops accepting for a moment when the process has no descriptor, or the kernel no memory, for one connection more.
///
/// Who wants to connect waits in the socket's queue meanwhile. Without a pause the loop would try over and over, as the
/// socket stays ready. (NIO's `AcceptBackoffHandler` holds back reads only that are asked for after one that succeeded.)
final class AcceptPause: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private static let duration = TimeAmount.milliseconds(200)

    private let logger: Logger
    /// The log has been told, and nothing has been accepted since.
    private var isTold = false

    init(logger: Logger) {
        self.logger = logger
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isTold = false
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !isTold { logger.warning("connections have to wait: \(error)") }
        isTold = true
        setAccepting(false, context.channel)
        let channel = NIOLoopBound(context.channel, eventLoop: context.eventLoop)
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.duration) { handler.value.setAccepting(true, channel.value) }
    }

    private func setAccepting(_ isAccepting: Bool, _ channel: any Channel) {
        // Setting an option of a channel that has just closed fails, and then nothing is accepted anyway.
        try? channel.syncOptions?.setOption(.autoRead, value: isAccepting)
    }
}
