import NIOCore
import Synchronization

/// The output of a command, kept up to a limit.
final class CollectedOutput: Sendable {
    private let limit: Int
    private let bytes = Mutex<[UInt8]>([])

    init(limit: Int) {
        self.limit = limit
    }

    /// The output; nil if it exceeds the limit.
    var content: [UInt8]? { bytes.withLock { $0.count <= limit ? $0 : nil } }

    fileprivate func append(_ more: ByteBufferView) {
        // One byte beyond the limit shows that the output exceeds it.
        bytes.withLock { $0.append(contentsOf: more.prefix(limit + 1 - $0.count)) }
    }
}

/// Reads the output of a command to its end, and keeps it.
final class OutputCollector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let output: CollectedOutput
    private var exit: CommandExit?

    init(_ output: CollectedOutput) {
        self.output = output
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        output.append(bytes.readableBytesView)
        exit?.bytes -= bytes.readableBytes
        endAfterExit()
    }

    func channelInactive(context: ChannelHandlerContext) {
        exit?.bytes = 0
        endAfterExit()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let exit = event as? CommandExit else { return }
        self.exit = exit
        endAfterExit()
    }

    private func endAfterExit() {
        guard let exit, exit.bytes <= 0 else { return }
        exit.printed.succeed()
        self.exit = nil
    }
}
