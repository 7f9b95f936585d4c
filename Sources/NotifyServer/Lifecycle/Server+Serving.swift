import NIOCore
import NIOPosix
import ServiceLifecycle

extension Server {
    /// Serves the connections that come to the socket, until a graceful shutdown has been carried through.
    func serve(_ listening: ListeningSocket) async throws {
        guard let descriptor = listening.takeDescriptor() else { return }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let watchdog = notifier.feedWatchdog(from: group.next())
        do {
            let channel = try await ServerBootstrap(group: group)
                .childChannelInitializer { $0.close() }
                .withBoundSocket(descriptor)
                .get()
            announceRunning(listening)
            try await gracefulShutdown()
            notifier.stopping(status: "draining")
            try await channel.close()
        } catch {
            watchdog?.cancel()
            try await group.shutdownGracefully()
            throw error
        }
        watchdog?.cancel()
        try await group.shutdownGracefully()
    }
}
