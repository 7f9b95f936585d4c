import Glibc
import Logging
import NIOCore
import NIOPosix
@_spi(Package) import NotifyCenter
import NotifySystem
import NotifyWire
import SystemPackage

/// The core of a client. Passes events from any thread to the client's machine. One lock guards the machine. The
/// effects are carried out after the lock is released.
final class ClientCore: Sendable {
    private struct Guarded: ~Copyable {
        var machine: ClientMachine
        var channel: (any Channel)?
        var flushScheduler = FlushScheduler()
        /// Whether reading from the channel is enabled.
        var isReading = true
        /// The earliest scheduled wake-up.
        var wakeAt: Duration?
        /// The socket of the last attempt to connect; nil before the first attempt.
        var socketPath: String?
        /// The logged reasons why sockets were skipped. Each reason is logged once.
        var skippedSockets: Set<String> = []
    }

    /// Work decided under the lock, to be carried out after its release.
    private struct DeferredWork: Sendable {
        var effects = Effects()
        var channel: (any Channel)?
        var flush = FlushScheduler.Action.none
        /// Whether `isReading` has changed.
        var changesReading = false
        var wakeAt: Duration?
    }

    let configuration: NotificationClient.Configuration
    private let logger: Logger?
    private let loop: any EventLoop
    let clock: any ClientClock
    let instruments: ClientInstruments?
    private let guarded: Lock<Guarded>
    /// The shared event loops, which live as long as the process.
    private static let loops: MultiThreadedEventLoopGroup = {
        let loops = MultiThreadedEventLoopGroup.singleton
        Fork.watch()
        return loops
    }()

    init(
        configuration: NotificationClient.Configuration, logger: Logger?, instance: InstanceID = .random(),
        instruments: ClientInstruments? = ClientInstruments()
    ) {
        self.instruments = instruments
        self.configuration = configuration
        self.logger = logger
        loop = Self.loops.next()
        clock = configuration.clock ?? EventLoopClock(loop: loop)
        guarded = Lock(Guarded(machine: ClientMachine(configuration, instance: instance)))
    }

    // MARK: - Events

    /// Passes an event to the machine and carries out its effects.
    @discardableResult
    func process<Result: Sendable>(
        fromDaemon: Bool = false, _ event: (inout ClientMachine, inout Effects) -> Result
    ) -> Result {
        let (result, deferred) = guarded.withLock { guarded in
            var deferred = DeferredWork()
            if fromDaemon { guarded.flushScheduler.received() }
            guarded.machine.submitStaged(now: clock.now, &deferred.effects)
            let result = event(&guarded.machine, &deferred.effects)
            collectWork(&guarded, &deferred)
            return (result, deferred)
        }
        perform(deferred)
        return result
    }

    private func collectWork(_ guarded: inout Guarded, _ deferred: inout DeferredWork) {
        deferred.channel = guarded.channel
        deferred.effects.dropped = guarded.machine.takeDropped()
        if guarded.machine.hasOutgoing, guarded.channel != nil {
            deferred.flush = guarded.flushScheduler.buffered(guarded.machine.outgoing.readableBytes, now: clock.now)
        }
        let isReading = guarded.machine.readsConnection
        if guarded.isReading != isReading {
            guarded.isReading = isReading
            deferred.changesReading = true
        }
        collectDeadline(&guarded, &deferred)
    }

    private func collectDeadline(_ guarded: inout Guarded, _ deferred: inout DeferredWork) {
        if let deadline = guarded.machine.deadline, guarded.wakeAt.map({ deadline < $0 }) ?? true {
            guarded.wakeAt = deadline
            deferred.wakeAt = deadline
        }
    }

    private func perform(_ deferred: DeferredWork) {
        let effects = deferred.effects
        instruments?.metrics?.count(effects)
        for (buffer, item) in effects.deliveries { buffer.put(item) }
        effects.outcomes.report()
        for answer in effects.answers { answer() }
        for warning in effects.warnings { logger?.warning("\(warning)", metadata: metadata) }
        for change in effects.changes { report(change, isLoss: effects.isConnectionLost) }
        if let channel = deferred.channel {
            schedule(deferred.flush, channel)
            if deferred.changesReading { updateReading(channel) }
        }
        switch effects.channel {
        case .none: break
        case .connect: connect()
        case .close: deferred.channel?.close(mode: .all, promise: nil)
        }
        if let moment = deferred.wakeAt { wake(at: moment) }
    }

    private func report(_ change: NotificationClient.ConnectionChange, isLoss: Bool) {
        switch change {
        case .connected(let version):
            logger?.debug(
                "connected to notifyd \(version)",
                metadata: metadata.merging(["notify.daemon_version": "\(version)"]) { $1 })
        case .disconnected(let error, let wait):
            var metadata = metadata
            metadata["notify.error_code"] = error.map { "\($0.code.rawValue)" }
            metadata["notify.retry_in"] = "\(wait.text)"
            // Only the loss of a connection is a warning, not each attempt to connect again.
            logger?.log(
                level: isLoss ? .warning : .info,
                "not connected to notifyd: \(error?.message ?? "the connection was closed"); retrying in \(wait.text)",
                metadata: metadata)
        }
        configuration.onConnectionChange?(change)
    }

    /// The metadata of every record.
    private var metadata: Logger.Metadata {
        guarded.withLock { $0.socketPath }.map { ["notify.socket": "\($0)"] } ?? [:]
    }

    private func wake(at moment: Duration) {
        clock.wake(at: moment) { [weak self] in self?.timeReached() }
    }

    private func timeReached() {
        guarded.withLock { $0.wakeAt = nil }
        process { $0.timeReached(clock.now, &$1) }
    }

    func logWarning(_ warning: some CustomStringConvertible & Sendable, metadata other: Logger.Metadata = [:]) {
        logger?.warning("\(warning)", metadata: metadata.merging(other) { $1 })
    }

    private var jitter: Double { .random(in: 0...1) }
}

// MARK: - The connection

extension ClientCore {
    private func connect() {
        let path: String
        do {
            path = try NotificationClient.socketPath(explicit: configuration.socketPath, onSkip: socketSkipped)
        } catch {
            connectFailed(error)
            return
        }
        guarded.withLock { $0.socketPath = path }
        let socket: CInt
        do {
            socket = try Self.connect(to: path)
        } catch {
            connectFailed(.cannotConnect(to: path, error), queueIsFull: error == .resourceTemporarilyUnavailable)
            return
        }
        ClientBootstrap(group: loop)
            .channelOption(ChannelOptions.recvAllocator, value: Self.receiveAllocator)
            .channelOption(ChannelOptions.writeBufferWaterMark, value: .init(low: 256 << 10, high: 1 << 20))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ConnectionHandler(core: self))
                }
            }
            .withConnectedSocket(socket)
            .whenFailure { self.connectFailed(NotifyError(.noDaemon, "can't connect to \(path): \($0)", cause: $0)) }
    }

    /// Connects a new socket, which does not block. NIO is not used here, because it would open the socket without
    /// close-on-exec.
    private static func connect(to path: String) throws(Errno) -> CInt {
        guard let address = UnixSocketAddress(path: path) else { throw .fileNameTooLong }
        let socket = try OwnedDescriptor.unixSocket(SOCK_STREAM)
        try Errno.check(address.withSockaddr { Glibc.connect(socket.rawValue, $0, $1) })
        return socket.release().rawValue
    }

    private func socketSkipped(_ reason: String) {
        if let report = configuration.onSkippedSocket { return report(reason) }
        let isNew = guarded.withLock { $0.skippedSockets.insert(reason).inserted }
        if isNew { logger?.warning("\(reason)") }
    }

    private static var receiveAllocator: AdaptiveRecvByteBufferAllocator {
        AdaptiveRecvByteBufferAllocator(minimum: 4 << 10, initial: 64 << 10, maximum: 256 << 10)
    }

    private func connectFailed(_ error: NotifyError, queueIsFull: Bool = false) {
        let jitter = jitter
        process { $0.connectFailed(error, queueIsFull: queueIsFull, now: clock.now, jitter: jitter, &$1) }
    }

    // Called by the handler, on the event loop.

    func connected(_ channel: any Channel) {
        guarded.withLock { $0.channel = channel }
        process { $0.connected(now: clock.now, &$1) }
    }

    func disconnected(_ error: (any Error)?) {
        guarded.withLock {
            $0.channel = nil
            $0.flushScheduler = FlushScheduler()
            $0.isReading = true
        }
        let error = error.map { NotifyError(.connectionLost, "the connection was lost: \($0)", cause: $0) }
        let jitter = jitter
        process { $0.disconnected(error, now: clock.now, jitter: jitter, &$1) }
    }

    /// Processes received bytes.
    ///
    /// - Returns: The number of bytes consumed.
    func received(_ bytes: UnsafeRawBufferPointer) -> Int {
        process(fromDaemon: true) { $0.received(bytes, now: { self.clock.now }, &$1) }
    }

    // MARK: - Reading

    private func updateReading(_ channel: any Channel) {
        guard channel.eventLoop.inEventLoop else {
            channel.eventLoop.execute { self.updateReading(channel) }
            return
        }
        // Several threads may schedule this call concurrently. Each call applies the latest state.
        let isReading = guarded.withLock { $0.channel !== channel || $0.isReading }
        // This fails only if the channel was just closed. Nothing is read from it any more.
        try? channel.syncOptions?.setOption(.autoRead, value: isReading)
    }

    // MARK: - Writing

    private func schedule(_ flush: FlushScheduler.Action, _ channel: any Channel) {
        switch flush {
        case .none: break
        case .now: channel.eventLoop.execute { self.flush(channel) }
        case .at(let moment):
            // A timer of a client that has ended must not keep the client.
            clock.wake(at: moment) { [weak self] in channel.eventLoop.execute { [weak self] in self?.flush(channel) } }
        }
    }

    /// Writes the gathered bytes while the channel is writable. Called on the event loop.
    func flush(_ channel: any Channel) {
        while let buffer = nextBuffer(channel) {
            channel.writeAndFlush(buffer, promise: nil)
        }
    }

    private func nextBuffer(_ channel: any Channel) -> ByteBuffer? {
        let (buffer, deferred) = guarded.withLock { guarded -> (ByteBuffer?, DeferredWork) in
            var deferred = DeferredWork()
            guard guarded.channel === channel, guarded.machine.hasOutgoing else {
                guarded.flushScheduler.flushed(now: nil)
                return (nil, deferred)
            }
            deferred.channel = guarded.channel
            guarded.machine.submitStaged(now: clock.now, &deferred.effects)
            collectDeadline(&guarded, &deferred)
            guarded.machine.isBlocked = !channel.isWritable
            guard channel.isWritable else {
                // The handler flushes when the channel becomes writable.
                guarded.flushScheduler.blocked()
                return (nil, deferred)
            }
            let buffer = guarded.machine.takeOutgoing(&deferred.effects)
            guarded.flushScheduler.flushed(now: buffer == nil ? nil : clock.now)
            return (buffer, deferred)
        }
        perform(deferred)
        return buffer
    }
}
