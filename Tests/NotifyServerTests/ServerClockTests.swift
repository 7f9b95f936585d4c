import Logging
import Metrics
import NIOCore
import NIOPosix
import NotifyBroker
import NotifyStore
import NotifyWire
import ServiceLifecycle
import TestSupport
import Testing
import WireTestSupport

@testable import NotifyServer

/// A daemon that is started again with another wall clock.
@Suite(.timeLimit(.minutes(25))) struct ServerClockTests {
    /// The clocks of a start, in seconds.
    struct Clocks: Sendable {
        var wall = 1_700_000_000
        var sinceBoot = 1000
        var boot = "one"

        var storeClock: StoreClock {
            StoreClock(
                sinceBoot: { [sinceBoot] in .seconds(sinceBoot) }, wall: { [wall] in .seconds(wall) }, bootID: boot)
        }
    }

    private typealias Channel = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// A client that waits for the frames that it needs.
    private struct Client {
        var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
        let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
        var reader = ReceivedReader()

        func send(_ bytes: [UInt8]) async throws { try await outbound.write(ByteBuffer(bytes: bytes)) }

        /// The next frame that `select` takes. Ignores other frames.
        mutating func next<Value>(_ select: (Received) -> Value?) async throws -> Value? {
            while true {
                while let frame = try reader.next() {
                    if let value = select(frame) { return value }
                }
                guard let bytes = try await inbound.next() else { return nil }
                reader.append(bytes)
            }
        }

        /// The time at which the next message of a durable subscription is due, in seconds since 1970; 0 if there is none.
        mutating func nextDelivery(of name: String) async throws -> Int {
            try await send(Describe(request: 100, durableName: name).encoded)
            let next = try await next { if case .durableDescription(let it) = $0 { it.nextMicroseconds } else { nil } }
            return Int(try #require(next) / 1_000_000)
        }
    }

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Starts a daemon with the log of the previous daemon, connects a client, and stops the daemon after `body`.
    private func run<Result>(
        _ clocks: Clocks, _ body: (inout Client) async throws -> sending Result
    ) async throws -> sending Result {
        let environment = ["XDG_RUNTIME_DIR": folder.file("run"), "XDG_STATE_HOME": folder.file("state")]
        let context = context(environment)
        let defaults = DefaultPaths(for: context)
        let options = CommandLineOptions(socket: folder.file("n.sock"), database: folder.file("n.db"))
        var configuration = try ConfigurationSources(options: options, context: context, defaults: defaults).load()
        configuration.store.clock = clocks.storeClock
        let logger = Logger(label: "notifyd") { _ in SwiftLogNoOpLogHandler() }
        let (running, announced) = AsyncStream<String>.makeStream()
        var server = Server(
            configuration: configuration, context: context, defaults: defaults,
            notifier: ServiceManagerNotifier(context: context), logger: logger,
            metrics: NOOPMetricsHandler.instance
        ) { announced.yield($0) }
        server.clock = {
            BrokerTime(monotonic: .seconds(1), wallMicroseconds: UInt64(Self.now) * 1_000_000)
        }
        let group = ServiceGroup(services: [server], logger: logger)
        let task = Task { try await group.run() }
        let path = try #require(await running.first { _ in true })
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(unixDomainSocketPath: path) { channel in
                channel.eventLoop.makeCompletedFuture { try Channel(wrappingChannelSynchronously: channel) }
            }
        let result = try await channel.executeThenClose { inbound, outbound in
            var client = Client(inbound: inbound.makeAsyncIterator(), outbound: outbound)
            try await client.send(Hello(instance: .random()).encoded)
            return try await body(&client)
        }
        await group.triggerGracefulShutdown()
        try await task.value
        return result
    }

    /// The wall clock of the broker in each start, in seconds since 1970. It stands still.
    private static let now = 1_800_000_000

    @Test(arguments: [
        // The clock was a day ahead and is corrected, within one boot and in a reboot.
        (Clocks(wall: 1_700_000_000 - 86_400, sinceBoot: 1600), 3000),
        (Clocks(wall: 1_700_000_000 - 86_400, sinceBoot: 5, boot: "two"), 3600),
        // A day has passed, with a reboot.
        (Clocks(wall: 1_700_000_000 + 86_400, sinceBoot: 5, boot: "two"), 0),
    ])
    func `a restart with a corrected clock changes no delay of a redelivery`(
        clocks: Clocks, left: Int
    ) async throws {
        let due = try await run(Clocks()) { client in
            try await client.send(
                Subscribe(request: 1, subscription: 1, patterns: ["a"], durableName: "jobs").encoded
                    + postFrame(2, name: Array("a".utf8)))
            let sequence = try await client.next { if case .message(let it) = $0 { it.sequence } else { nil } }
            let reject = Reject(
                subscription: 1, sequence: try #require(sequence), delayMicroseconds: 3_600_000_000)
            try await client.send(reject.encoded)
            return try await client.nextDelivery(of: "jobs")
        }
        #expect((Self.now + 3600...Self.now + 3601).contains(due))
        let dueLater = try await run(clocks) { try await $0.nextDelivery(of: "jobs") }
        let expected = Self.now + left - 1...Self.now + left + 1
        #expect(expected.contains(dueLater) || left == 0 && dueLater == 0)
    }
}
