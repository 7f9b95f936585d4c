import Glibc
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
    /// The bytes of a log of an earlier version that are migrated and rewritten in a second on a slow disk.
    private static let migratedBytesPerSecond = 8 << 20

    /// Serves connections until a graceful shutdown is complete.
    ///
    /// - Throws: ``ServerError`` with `socketLost` if the socket can never accept again. The open connections are
    ///   drained first.
    func serve(_ listening: ListeningSocket) async throws {
        let store = try openStore()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let watchdog = notifier.sendKeepAlives(from: group.next())
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

    /// Opens the store. Extends systemd's start timeout first, because recovering or migrating a log takes time that
    /// depends on the log's size.
    private func openStore() throws -> Store {
        var status = stat()
        let logBytes = stat(configuration.databasePath, &status) == 0 ? Int(status.st_size) : 0
        notifier.extendTimeout(by: .seconds(300 + logBytes / Self.migratedBytesPerSecond))
        var options = configuration.store
        options.otherOwnPaths = [configuration.socketPath, FileLock.path(guarding: configuration.socketPath)]
        let store = try Store.open(path: configuration.databasePath, options: options)
        if let problem = store.recovered.problem { logger.warning("\(problem)") }
        if !store.recovered.hasReserve {
            logger.warning(
                """
                there is no reserve with which messages can be deleted on a full disk: it is made when 20 MiB are free \
                above log.min_free_bytes
                """)
        }
        if !store.recovered.wasClosedCleanly {
            logger.notice(
                """
                the last shutdown was not clean: messages that may have been delivered before are marked as \
                redeliveries; after a power failure, messages that were not synced may be missing
                """)
        }
        return store
    }

    private func serve(_ listening: ListeningSocket, _ store: Store, on eventLoop: any EventLoop) async throws {
        let driver = try await eventLoop.submit { makeDriver(store, eventLoop) }.get()
        let wakeUp = try await WakeUpPipe.open(on: eventLoop) { driver.value.wokenUp() }
        try await eventLoop.flatSubmit {
            driver.value.requestWakeUp = wakeUp.signal
            driver.value.requestReload = { [reloads] id, request in
                reloads.request { outcome in
                    eventLoop.execute { driver.value.reloadEnded(outcome, for: id, request: request) }
                }
            }
            return driver.value.start()
        }.get()
        let daemonUID = context.userID
        reloads.set { [reloads] configuration in
            let problem = reloads.problem
            // The policy is compiled on the caller's thread, because a long policy takes milliseconds.
            let policy = configuration.map { AccessPolicy(daemonUID: daemonUID, rules: $0.policy) }
            eventLoop.execute {
                driver.value.reloadEnded(problem: problem)
                driver.value.reloaded(
                    limits: configuration?.completeBroker, policy: policy, retention: configuration?.store.retention)
            }
        }
        let updates = try await eventLoop.submit { reportMetrics(of: driver, on: eventLoop) }.get()
        var socketError: ServerError?
        do {
            try await acceptConnections(on: listening, driver, eventLoop)
        } catch let error as ServerError where error.code == .socketLost {
            socketError = error
        }
        listening.close()
        reloads.set(nil)
        notifier.stopping(status: "draining")
        // The unit's stop timeout must not end the process before the configured deadline.
        notifier.extendTimeout(by: configuration.drainDeadline + .seconds(10))
        try await eventLoop.flatSubmit { driver.value.drain(within: configuration.drainDeadline) }.get()
        let nextSequence = try await eventLoop.submit {
            updates?.cancel()
            driver.value.updateMetrics()
            driver.value.requestWakeUp = {}
            driver.value.requestReload = { _, _ in }
            wakeUp.close()
            return driver.value.nextSequence
        }.get()
        try close(store, nextSequence: nextSequence)
        if let socketError { throw socketError }
    }

    /// Starts to update the metrics at intervals.
    ///
    /// - Returns: The task to cancel before the loop ends; `nil` if no backend collects metrics.
    private func reportMetrics(
        of driver: NIOLoopBound<BrokerDriver>, on eventLoop: any EventLoop
    ) -> RepeatedTask? {
        guard let metrics = DaemonMetrics(metrics) else { return nil }
        driver.value.metrics = metrics
        return eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .seconds(10)) { _ in
            driver.value.updateMetrics()
        }
    }

    /// Closes the store. The error of a full disk is logged and not thrown, because no stored message is lost: the next
    /// start recovers as after a crash.
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
            configuration: configuration.completeBroker,
            policy: AccessPolicy(daemonUID: context.userID, rules: configuration.policy), recovered: store.recovered,
            daemon: .init(
                version: notifydVersion, instance: .random(), started: clock(),
                process: Peer(
                    identity: Identity(uid: context.userID, gid: getegid()), pid: UInt32(context.processID))))
        return NIOLoopBound(
            BrokerDriver(
                broker: broker, store: store, retention: configuration.store.retention, eventLoop: eventLoop,
                notifier: notifier, logger: logger, clock: clock),
            eventLoop: eventLoop)
    }
}
