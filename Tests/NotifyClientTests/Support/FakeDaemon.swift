import Foundation
@_spi(Package) import NotifyCenter
import NIOCore
import NIOPosix
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyClient

/// A replacement for the daemon: the test receives the client's frames, and sends the answers.
///
/// The event loop answers greetings, pings, and the ends of subscriptions and servers immediately. The client waits for these answers with a
/// time limit, and the test's task could answer too late.
final class FakeDaemon: Sendable {
    let path: String
    private let folder: String
    private let postWindow: UInt32
    private let connections = Inbox<FakeConnection>()
    private let server = Lock<(any Channel)?>(nil)
    private let nextVersion = Lock("fake")

    /// The version in the welcome of later connections.
    var version: String {
        get { nextVersion.withLock { $0 } }
        set { nextVersion.withLock { $0 = newValue } }
    }

    /// Runs a test with a fake daemon on a new socket, and removes the socket afterwards.
    static func run<Result>(
        isolation: isolated (any Actor)? = #isolation, listening: Bool = true, postWindow: UInt32 = 1024,
        _ body: (FakeDaemon) async throws -> Result
    ) async throws -> Result {
        let daemon = try FakeDaemon(postWindow: postWindow)
        do {
            if listening { try await daemon.listen() }
            let result = try await body(daemon)
            try await daemon.end()
            return result
        } catch {
            try? await daemon.end()
            throw error
        }
    }

    private init(postWindow: UInt32) throws {
        self.postWindow = postWindow
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "notify-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.folder = folder.path
        path = folder.path + "/socket"
    }

    func listen() async throws {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { [self] channel in
                channel.eventLoop.makeCompletedFuture {
                    let connection = FakeConnection(channel)
                    try channel.pipeline.syncOperations.addHandler(
                        FakeConnection.Handler(connection, postWindow: postWindow, version: version))
                    connections.put(connection)
                }
            }
            .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
        server.withLock { $0 = channel }
    }

    /// Returns the next connection of a client.
    func accept() async throws -> FakeConnection { try await connections.next() }

    func stopListening() async throws {
        let channel = server.withLock { $0.take() }
        try await channel?.close()
        try? FileManager.default.removeItem(atPath: path)
    }

    private func end() async throws {
        try await stopListening()
        for connection in connections.all() { try? await connection.close() }
        try FileManager.default.removeItem(atPath: folder)
    }
}

/// The daemon's side of a client's connection.
final class FakeConnection: Sendable {
    struct Received: Sendable {
        var kind: FrameKind
        var flags: UInt8
        var body: [UInt8]

        init(_ frame: FrameDecoder.Frame) throws {
            kind = try #require(FrameKind(rawValue: frame.kind))
            flags = frame.flags
            body = Array(frame.body)
        }

        func read<Frame: ControlFrame>(_: Frame.Type = Frame.self) throws -> Frame {
            try #require(kind == Frame.kind, "\(kind) came instead of \(Frame.kind)")
            return try body.withUnsafeBytes { bytes in
                var reader = FieldReader(bytes)
                return try Frame(flags: flags, reading: &reader)
            }
        }

        /// Calls `body` with the frame, whose parts are read in place.
        func withFrame<Result>(_ body: (FrameDecoder.Frame) throws -> Result) throws -> Result {
            var bytes = ByteBuffer()
            bytes.writeFrame(kind, flags: flags) { $0.writeBytes(self.body) }
            return try bytes.withUnsafeReadableBytes { bytes in
                try body(#require(try FrameDecoder(maximumBodyBytes: self.body.count).next(in: bytes)))
            }
        }

        func readPost() throws -> ReceivedPost {
            try readFrame(.post) { frame in try ReceivedPost(Post(frame)) }
        }

        func readSetValue() throws -> (post: ReceivedPost, ifSequence: UInt64?) {
            try readFrame(.setValue) { frame in
                let set = try SetValue(frame)
                return (try ReceivedPost(set.post), set.ifSequence)
            }
        }

        private func readFrame<Value>(
            _ kind: FrameKind, _ read: (FrameDecoder.Frame) throws -> Value
        ) throws -> Value {
            try #require(self.kind == kind, "\(self.kind) came instead of \(kind)")
            var bytes = ByteBuffer()
            bytes.writeFrame(kind, flags: flags) { $0.writeBytes(body) }
            return try bytes.withUnsafeReadableBytes { bytes in
                try read(#require(try FrameDecoder(maximumBodyBytes: body.count).next(in: bytes)))
            }
        }
    }

    struct ReceivedPost: Sendable {
        var request: UInt64
        var name: String
        var object: String
        var payload: [UInt8]
        var durability: NotifyWire.Durability
        var wantsReceipt: Bool
        var headers: [(key: String, value: String)]

        var text: String { String(decoding: payload, as: UTF8.self) }

        fileprivate init(_ post: Post) throws {
            request = post.request
            name = String(decoding: post.parts.name, as: UTF8.self)
            object = String(decoding: post.parts.object, as: UTF8.self)
            payload = Array(post.parts.payload)
            durability = post.durability
            wantsReceipt = post.wantsReceipt
            headers = try HeaderList.decode(post.parts.headers)
        }
    }

    private let channel: any Channel
    private let frames = Inbox<Received?>()
    private let drops = Lock<UInt64>(0)

    /// The number of messages that the client reported as dropped. These reports may come at any time, so `next()` does
    /// not return them.
    var reportedDrops: UInt64 { drops.withLock { $0 } }

    init(_ channel: any Channel) {
        self.channel = channel
    }

    // MARK: Receiving

    /// Returns the next frame, or nil after the client has closed the connection.
    func next() async throws -> Received? { try await frames.next() }

    func expect<Frame: ControlFrame>(_ type: Frame.Type = Frame.self) async throws -> Frame {
        try #require(try await next(), "the connection ended before a \(Frame.kind)").read(type)
    }

    func expectPost() async throws -> ReceivedPost {
        try #require(try await next(), "the connection ended before a post").readPost()
    }

    func expectSetValue() async throws -> (post: ReceivedPost, ifSequence: UInt64?) {
        try #require(try await next(), "the connection ended before a value").readSetValue()
    }

    func expectEnd() async throws {
        while let frame = try await next() { Issue.record("\(frame.kind) came instead of the end") }
    }

    // MARK: Sending

    func send(_ body: @escaping @Sendable (inout ByteBuffer) -> Void) {
        let channel = channel
        channel.eventLoop.execute {
            var buffer = ByteBuffer()
            body(&buffer)
            channel.writeAndFlush(buffer, promise: nil)
        }
    }

    func send(_ frame: some ControlFrame) {
        send { frame.write(to: &$0) }
    }

    func close() async throws {
        try await channel.close()
    }

    // MARK: Exchanges

    static func welcome(
        to hello: Hello, postWindow: UInt32 = 1024, version: UInt16 = 1, daemonVersion: String = "fake"
    ) -> Welcome {
        Welcome(
            version: version, uid: 0, gid: 0, pid: 1, maximumPayloadBytes: 1 << 20, postWindow: postWindow,
            maximumWindow: 65_536, maximumSubscriptions: 64, daemonInstance: .random(),
            clientInstance: hello.instance, daemonVersion: daemonVersion)
    }

    /// Answers the next subscribe frame.
    @discardableResult
    func acceptSubscription(after sequence: UInt64 = 0, isResumed: Bool = false) async throws -> Subscribe {
        let subscribe: Subscribe = try await expect()
        send(
            Subscribed(
                request: subscribe.request, subscription: subscribe.subscription, sequence: sequence,
                isResumed: isResumed))
        return subscribe
    }

    func expectDetach() async throws {
        let _: Detach = try await expect()
    }

    func expectPing() async throws {
        let _: Ping = try await expect()
    }

    /// Expects the final ping and the end of the connection.
    func expectFinalPing() async throws {
        try await expectPing()
        try await expectEnd()
    }

    func sendReceipt(_ request: UInt64, sequence: UInt64 = 1, durability: NotifyWire.Durability = .volatile) {
        send(
            NotifyWire.Receipt(request: request, sequence: sequence, subscribers: 0, stored: 0, durability: durability))
    }

    final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let connection: FakeConnection
        private let postWindow: UInt32
        private let version: String
        private var reader = FrameReader()

        init(_ connection: FakeConnection, postWindow: UInt32, version: String) {
            self.connection = connection
            self.postWindow = postWindow
            self.version = version
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            reader.append(unwrapInboundIn(data))
            while let frame = try? reader.next(Received.init) {
                answer(frame)
                if frame.kind != .hello, frame.kind != .dropped { connection.frames.put(frame) }
            }
        }

        private func answer(_ frame: Received) {
            switch frame.kind {
            case .hello:
                guard let hello = try? frame.read(Hello.self) else { break }
                connection.send(
                    FakeConnection.welcome(to: hello, postWindow: postWindow, daemonVersion: version))
            case .ping:
                guard let ping = try? frame.read(Ping.self) else { break }
                connection.send(Pong(request: ping.request))
            case .detach:
                guard let detach = try? frame.read(Detach.self) else { break }
                connection.send(Detached(request: detach.request, subscription: detach.subscription))
            case .endServing:
                guard let end = try? frame.read(EndServing.self) else { break }
                connection.send(ServingEnded(request: end.request, server: end.server))
            case .dropped:
                guard let dropped = try? frame.read(Dropped.self) else { break }
                connection.drops.withLock { $0 += dropped.messages }
            default:
                break
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            connection.frames.put(nil)
        }
    }
}

/// A queue of elements, with an asynchronous `next()` for one consumer at a time.
final class Inbox<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var waiter: CheckedContinuation<Element, any Error>?
        var isCancelled = false
    }

    private let state = Lock(State())

    func put(_ element: Element) {
        let waiter = state.withLock { state in
            if state.waiter == nil { state.elements.append(element) }
            return state.waiter.take()
        }
        waiter?.resume(returning: element)
    }

    func all() -> [Element] { state.withLock(\.elements) }

    /// Waits for the next element.
    ///
    /// - Throws: `CancellationError` if the task is cancelled, for example at the time limit of a suite.
    func next() async throws -> Element {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let early = state.withLock { state -> Result<Element, any Error>? in
                    if !state.elements.isEmpty { return .success(state.elements.removeFirst()) }
                    if state.isCancelled { return .failure(CancellationError()) }
                    state.waiter = continuation
                    return nil
                }
                if let early { continuation.resume(with: early) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.isCancelled = true
                return state.waiter.take()
            }
            waiter?.resume(throwing: CancellationError())
        }
    }
}
