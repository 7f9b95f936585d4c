import NIOCore
import NIOPosix
import NotifyClient
import NotifyWire
import WireTestSupport

/// Receives messages that a connection without NotifyClient posts, so that the figure is that of receiving.
struct Receiving {
    let client: NotificationClient
    let socketPath: String
    let payload: Int
    let duration: Duration

    /// Receives by `messages()`.
    func messages() async throws -> Measurement {
        try await client.withSubscription(to: NumberedPosts.name) { subscription in
            var posts = try await NumberedPosts(socketPath: socketPath, payload: payload, duration: duration)
            for try await message in subscription.messages() {
                if try posts.arrived(message) { break }
            }
            return try posts.measurement()
        }
    }

    /// Receives by `batches`.
    func batches() async throws -> Measurement {
        try await client.withSubscription(to: NumberedPosts.name) { subscription in
            var posts = try await NumberedPosts(socketPath: socketPath, payload: payload, duration: duration)
            batches: for try await batch in subscription.batches {
                for message in batch {
                    if try posts.arrived(message) { break batches }
                }
            }
            return try posts.measurement()
        }
    }
}

/// Posts blocks of numbered messages without receipts, and checks that all of them arrive in order.
private struct NumberedPosts {
    static let name = "bench.topic"
    /// As many messages are in flight as with the load generator in C.
    private static let blocks = 4
    private static let blockSize = 250

    private let channel: any Channel
    private var block = ByteBuffer()
    private let frameSize: Int
    private let payloadOffset: Int
    private let start: ContinuousClock.Instant
    private let duration: Duration
    private var posted = 0
    private var received = 0

    init(socketPath: String, payload: Int, duration: Duration) async throws {
        let frame = postFrame(
            0, name: Array(Self.name.utf8), payload: [UInt8](repeating: 7, count: payload), .volatile, receipt: false)
        frameSize = frame.count
        payloadOffset = frame.count - payload
        for _ in 0..<Self.blockSize { block.writeBytes(frame) }
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(unixDomainSocketPath: socketPath).get()
        channel.writeAndFlush(ByteBuffer(bytes: Hello(instance: .random()).encoded), promise: nil)
        self.duration = duration
        start = .now
        for _ in 0..<Self.blocks { postBlock() }
    }

    private mutating func postBlock() {
        for index in 0..<Self.blockSize {
            let number = UInt64(posted + index)
            // The request number is the first field.
            block.setInteger(number + 1, at: index * frameSize + FrameHeader.size, endianness: .little)
            block.setInteger(number, at: index * frameSize + payloadOffset, endianness: .little)
        }
        posted += Self.blockSize
        channel.writeAndFlush(block, promise: nil)
    }

    /// Checks a message, and posts the next block when a block has arrived. Returns whether the message is the last.
    mutating func arrived(_ message: NotificationClient.Message) throws -> Bool {
        let number = message.withPayload { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
        guard number == UInt64(received) else {
            throw WrongResult(description: "message \(number) instead of \(received)")
        }
        received += 1
        if received % Self.blockSize == 0, ContinuousClock.now - start < duration { postBlock() }
        guard received == posted else { return false }
        channel.close(promise: nil)
        return true
    }

    func measurement() throws -> Measurement {
        guard received == posted else { throw WrongResult(description: "\(received) of \(posted) messages") }
        return Measurement(messages: received, duration: ContinuousClock.now - start)
    }
}
