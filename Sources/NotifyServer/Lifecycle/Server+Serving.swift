import NotifyLog
import Logging
import NIOCore
import NIOPosix
import NotifyBroker
import NotifyStore
import NotifySystem
import NotifyWire
import ServiceLifecycle

extension Server {
    /// Serves the connections that come to the socket, until a graceful shutdown has been carried through.
    ///
    /// - Throws: ``ServerError`` with `socketLost` if the socket is lost; what was accepted is drained before.
    func serve(_ listening: ListeningSocket) async throws {
        let store = try openStore()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let watchdog = notifier.feedWatchdog(from: group.next())
        do {
            try await serve(listening, store, on: group.next())
        } catch {
            watchdog?.cancel()
            try await group.shutdownGracefully()
            throw error
        }
        watchdog?.cancel()
        try await group.shutdownGracefully()
    }

    /// Opening may have a long log to go through, so systemd is asked for patience first.
    private func openStore() throws -> Store {
        notifier.extendTimeout(by: .seconds(300))
        let store = try Store.open(path: configuration.databasePath, options: configuration.store)
        if !store.recovered.wasClosedCleanly {
            logger.notice("the last stop was not clean: stored messages are kept, redeliveries are flagged")
        }
        return store
    }

    private func serve(_ listening: ListeningSocket, _ store: Store, on eventLoop: any EventLoop) async throws {
        let driver = try await eventLoop.submit { makeDriver(store, eventLoop) }.get()
        let wakeUp = try await WakeUpPipe.open(on: eventLoop) { driver.value.eventCame() }
        try await eventLoop.flatSubmit {
            driver.value.requestEvent = wakeUp.raise
            return driver.value.start()
        }.get()
        reloads.set { eventLoop.execute { driver.value.repairStorage() } }
        var loss: ServerError?
        do {
            try await acceptConnections(on: listening, driver, eventLoop)
        } catch let error as ServerError where error.code == .socketLost {
            loss = error
        }
        listening.close()
        reloads.set(nil)
        notifier.stopping(status: "draining")
        // However long a deadline was configured, the unit's own shall not come first.
        notifier.extendTimeout(by: configuration.drainDeadline + .seconds(10))
        try await eventLoop.flatSubmit { driver.value.drain(within: configuration.drainDeadline) }.get()
        let nextSequence = try await eventLoop.submit {
            driver.value.requestEvent = {}
            wakeUp.close()
            return driver.value.nextSequence
        }.get()
        try close(store, nextSequence: nextSequence)
        if let loss { throw loss }
    }

    /// A full disk is no failed stop: everything with a receipt is stored, and the next start recovers the rest.
    private func close(_ store: Store, nextSequence: UInt64) throws(StoreError) {
        do throws(StoreError) {
            try store.close(nextSequence: nextSequence)
        } catch {
            guard error.code == .full else { throw error }
            logger.error("\(error)")
        }
    }

    private func makeDriver(_ store: Store, _ eventLoop: any EventLoop) -> NIOLoopBound<BrokerDriver> {
        let broker = Broker(
            configuration: configuration.broker, recovered: store.recovered,
            daemon: .init(version: notifydVersion, instance: .random(), started: .now()))
        return NIOLoopBound(
            BrokerDriver(broker: broker, store: store, eventLoop: eventLoop, notifier: notifier, logger: logger),
            eventLoop: eventLoop)
    }
}
