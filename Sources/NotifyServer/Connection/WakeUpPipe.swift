import Glibc
import NIOCore
import NIOPosix
import SystemPackage

/// Comes back to an event loop as an event, together with those that are there by then. A task would come before them: the loop
/// carries out all tasks that are due, also those that tasks add, before it looks for events.
struct WakeUpPipe {
    private let writeEnd: SystemPackage.FileDescriptor

    /// - Parameter action: What is called on the loop for each `raise`.
    static func open(on eventLoop: any EventLoop, action: @escaping @Sendable () -> Void) async throws -> WakeUpPipe {
        let ends = try SystemPackage.FileDescriptor.pipe()
        for end in [ends.readEnd, ends.writeEnd] { _ = fcntl(end.rawValue, F_SETFD, FD_CLOEXEC) }
        _ = try await NIOPipeBootstrap(group: eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Reader(action))
                }
            }
            .takingOwnershipOfDescriptor(input: ends.readEnd.rawValue).get()
        return WakeUpPipe(writeEnd: ends.writeEnd)
    }

    /// Not to be called again before the action was.
    func raise() {
        // The pipe is empty, so there is room, and its other end is open for as long as the loop runs.
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
