import NIOCore
import NIOPosix
import SystemPackage

/// A pipe that wakes an event loop with an I/O event, so that other I/O events are handled in the same turn. A task
/// can't do this, because the loop runs all due tasks, including tasks that other tasks add, before it polls for
/// events.
struct WakeUpPipe {
    private let writeEnd: SystemPackage.FileDescriptor

    /// - Parameter action: Called on the event loop for each `signal`.
    static func open(on eventLoop: any EventLoop, action: @escaping @Sendable () -> Void) async throws -> WakeUpPipe {
        let ends = try SystemPackage.FileDescriptor.pipe(options: .closeOnExec)
        _ = try await NIOPipeBootstrap(group: eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Reader(action))
                }
            }
            .takingOwnershipOfDescriptor(input: ends.readEnd.rawValue).get()
        return WakeUpPipe(writeEnd: ends.writeEnd)
    }

    /// Wakes the loop. Must not be called again before the action was called.
    func signal() {
        // This can't block or fail: the pipe is empty, and its read end is open for as long as the loop runs.
        _ = withUnsafeBytes(of: UInt8(1)) { try? writeEnd.write($0) }
    }

    func close() { try? writeEnd.close() }

    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let action: @Sendable () -> Void

        init(_ action: @escaping @Sendable () -> Void) { self.action = action }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { action() }
    }
}
