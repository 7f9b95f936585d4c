import Glibc
import Logging
import NIOCore

/// Pauses accepting for 200 ms after `accept` failed, for example because descriptors or memory were exhausted.
///
/// During the pause, new connections wait in the socket's backlog. Without the pause the event loop would retry in a
/// busy loop, because the socket stays readable. NIO's `AcceptBackoffHandler` does not prevent this: it delays only
/// reads that are requested after a successful read.
///
/// One handler serves all channels of a listening socket in succession: NIO closes a channel on errors that it does not
/// classify as temporary, and the server opens another channel for the socket.
final class AcceptBackoff: ChannelInboundHandler {
    typealias InboundIn = any Channel

    static let duration = TimeAmount.milliseconds(200)

    private let logger: Logger
    /// Whether a failure was logged and no connection has been accepted since.
    private var isLogged = false
    /// The last error that a pause can't resolve, because the socket itself is unusable.
    private(set) var fatalError: (any Error)?

    init(logger: Logger) {
        self.logger = logger
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isLogged = false
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if Self.isFatal(error) {
            fatalError = error
            return
        }
        if !isLogged { logger.warning("cannot accept connections, retrying: \(error)") }
        isLogged = true
        setAccepting(false, context.channel)
        let channel = NIOLoopBound(context.channel, eventLoop: context.eventLoop)
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.duration) { handler.value.setAccepting(true, channel.value) }
    }

    /// Whether the socket can never accept again: it was shut down, or is not a listening socket.
    private static func isFatal(_ error: any Error) -> Bool {
        switch (error as? IOError)?.errnoCode {
        // NIO reports the hang-up of a socket as a reset.
        case EINVAL, EBADF, ENOTSOCK, EOPNOTSUPP, ECONNRESET: true
        default: false
        }
    }

    private func setAccepting(_ isAccepting: Bool, _ channel: any Channel) {
        // Setting the option fails if the channel was just closed. A closed channel accepts nothing anyway.
        try? channel.syncOptions?.setOption(.autoRead, value: isAccepting)
    }
}
