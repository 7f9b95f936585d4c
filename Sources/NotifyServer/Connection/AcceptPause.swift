import Glibc
import Logging
import NIOCore

/// Stops accepting for a moment when a connection could not be accepted: for want of a descriptor or of memory, say.
///
/// Who wants to connect waits in the socket's queue meanwhile. Without a pause the loop would try over and over, as the
/// socket stays ready. (NIO's `AcceptBackoffHandler` holds back reads only that are asked for after one that succeeded.)
///
/// One handler serves all channels of a listening socket, one after another: NIO closes the channel at errors that it does
/// not know as passing ones.
final class AcceptPause: ChannelInboundHandler {
    typealias InboundIn = any Channel

    static let duration = TimeAmount.milliseconds(200)

    private let logger: Logger
    /// The log has been told, and nothing has been accepted since.
    private var isTold = false
    /// The last error of the socket itself, which no pause mends.
    private(set) var fatalError: (any Error)?

    init(logger: Logger) {
        self.logger = logger
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isTold = false
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if Self.isFatal(error) {
            fatalError = error
            return
        }
        if !isTold { logger.warning("connections have to wait: \(error)") }
        isTold = true
        setAccepting(false, context.channel)
        let channel = NIOLoopBound(context.channel, eventLoop: context.eventLoop)
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.duration) { handler.value.setAccepting(true, channel.value) }
    }

    /// Whether the socket accepts no more, whatever is tried: it was shut down, or is no listening socket.
    private static func isFatal(_ error: any Error) -> Bool {
        switch (error as? IOError)?.errnoCode {
        // NIO reports the hang-up of a socket as a reset.
        case EINVAL, EBADF, ENOTSOCK, EOPNOTSUPP, ECONNRESET: true
        default: false
        }
    }

    private func setAccepting(_ isAccepting: Bool, _ channel: any Channel) {
        // Setting an option of a channel that has just closed fails, and then nothing is accepted anyway.
        try? channel.syncOptions?.setOption(.autoRead, value: isAccepting)
    }
}
