import NIOCore
import NIOPosix
import NotifyBroker
import NotifyLog
import NotifySystem
import ServiceLifecycle
import SystemPackage

extension Server {
    /// Accepts connections until a graceful shutdown begins.
    ///
    /// - Throws: ``ServerError`` with `socketLost` if the socket can never accept again.
    func acceptConnections(
        on listening: ListeningSocket, _ driver: NIOLoopBound<BrokerDriver>, _ eventLoop: any EventLoop
    ) async throws {
        let backoff = try await eventLoop.submit {
            NIOLoopBound(AcceptBackoff(logger: logger), eventLoop: eventLoop)
        }.get()
        let bootstrap = makeBootstrap(listening, driver, backoff, eventLoop)
        var channel: (any Channel)? = try await open(listening, bootstrap)
        reportReady(listening)
        try await eventLoop.submit { driver.value.reportProblem() }.get()
        while true {
            if let channel { await waitUntilClosed(channel) }
            if Task.isShuttingDownGracefully { return }
            try Task.checkCancellation()
            if let error = try await eventLoop.submit({ backoff.value.fatalError }).get() {
                throw ServerError(
                    .socketLost, "the socket \(listening.path) can no longer accept connections: restart notifyd",
                    cause: error)
            }
            await waitForBackoff(on: eventLoop)
            // Opening may fail for the same reason as accepting, such as exhausted descriptors.
            channel = try? await open(listening, bootstrap)
        }
    }

    private func makeBootstrap(
        _ listening: ListeningSocket, _ driver: NIOLoopBound<BrokerDriver>, _ backoff: NIOLoopBound<AcceptBackoff>,
        _ eventLoop: any EventLoop
    ) -> ServerBootstrap {
        ServerBootstrap(group: eventLoop)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try listening.restoreBacklog()
                    try channel.pipeline.syncOperations.addHandler(backoff.value)
                }
            }
            // Connections read once per turn, so that they take turns and share one buffer.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            // A peer that has shut down its direction still receives answers.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let credentials = try PeerCredentials(ofAccepted: channel)
                    let identity = Identity(
                        uid: credentials.userID, gid: credentials.groupID, groups: credentials.groups)
                    let peer = Peer(identity: identity, pid: UInt32(credentials.processID))
                    if let bytes = driver.value.core.sendBufferBytes(of: identity.uid) {
                        // The kernel doubles the value, because it counts its own records, too.
                        try channel.syncOptions?.setOption(.socketOption(.so_sndbuf), value: bytes / 2)
                    }
                    try channel.syncOptions?.setOption(
                        .recvAllocator, value: SharedReadAllocator(driver: driver, uid: identity.uid))
                    try channel.pipeline.syncOperations.addHandler(
                        ConnectionHandler(driver: driver.value, peer: peer))
                }
            }
    }

    /// Opens a channel on a copy of the descriptor, because NIO closes a channel's descriptor even on some temporary
    /// errors.
    private func open(_ listening: ListeningSocket, _ bootstrap: ServerBootstrap) async throws -> any Channel {
        let descriptor = try listening.copyDescriptor()
        return try await bootstrap.withBoundSocket(descriptor.release().rawValue).get()
    }

    private func waitUntilClosed(_ channel: any Channel) async {
        await withTaskCancellationOrGracefulShutdownHandler {
            try? await channel.closeFuture.get()
        } onCancelOrGracefulShutdown: {
            channel.close(promise: nil)
        }
    }

    /// Waits before the next channel is opened; a shutdown ends the wait.
    private func waitForBackoff(on eventLoop: any EventLoop) async {
        let backoff = eventLoop.scheduleTask(in: AcceptBackoff.duration) {}
        await withTaskCancellationOrGracefulShutdownHandler {
            try? await backoff.futureResult.get()
        } onCancelOrGracefulShutdown: {
            backoff.cancel()
        }
    }
}
