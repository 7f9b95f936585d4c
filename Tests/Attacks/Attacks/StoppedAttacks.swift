import NotifyWire

/// Posts of stored messages to durable subscribers that stop reading one after another, so that different messages are
/// in flight to each.
final class StoppedDurableAttack: Attack {
    private static let window: UInt32 = 16_384
    private static let messagesBetweenStops = 400
    private static let posters = 4

    private let subscribers: [Connection]
    private let posters: [Connection]
    private var block = PostBlock(
        names: [String](repeating: "stopped.durable", count: 512), payload: 4096, durability: .stored)

    init(_ target: Target) throws {
        subscribers = try target.connections(target.size)
        posters = try target.connections(Self.posters)
        for (number, subscriber) in subscribers.enumerated() {
            subscriber.subscribe(to: "stopped.durable", durable: "stopped-\(number)", window: Self.window)
        }
    }

    var admitted: Int { subscribers.count(.subscribed) }

    func step() {
        subscribers.stop(oneAfterAnother: Self.messagesBetweenStops)
        for poster in posters {
            if poster.isFlushed { block.write(to: poster) }
            poster.flush()
        }
        Connection.serve(subscribers + posters)
    }
}

/// Posts of messages to volatile subscribers that stop reading one after another.
final class StoppedVolatileAttack: Attack {
    private static let messagesBetweenStops = 6000

    private let subscribers: [Connection]
    private let poster: Connection
    private var block = PostBlock(names: [String](repeating: "stopped.volatile", count: 256), payload: 1024)

    init(_ target: Target) throws {
        subscribers = try target.connections(target.size)
        poster = try Connection(target.socket)
        for subscriber in subscribers {
            subscriber.subscribe(to: "stopped.volatile")
        }
    }

    var admitted: Int { subscribers.count(.subscribed) }

    func step() {
        subscribers.stop(oneAfterAnother: Self.messagesBetweenStops)
        if poster.isFlushed { block.write(to: poster) }
        poster.flush()
        Connection.serve(subscribers + [poster])
    }
}

/// Posts under very many names to subscribers that never read. The subscribers have the overflow policy `keepLatest`.
final class KeepLatestAttack: Attack {
    private static let names = 20_000

    private let subscribers: [Connection]
    private let poster: Connection
    private var block = PostBlock(names: (0..<names).map { "latest.n\($0)" }, payload: 64)

    init(_ target: Target) throws {
        subscribers = try (0..<target.size).map { _ in try Connection(target.socket, overflow: .keepLatest) }
        poster = try Connection(target.socket)
        for subscriber in subscribers {
            subscriber.subscribe(to: "latest.*")
            subscriber.isReading = false
        }
    }

    var admitted: Int { subscribers.count(.subscribed) }

    func step() {
        if poster.isFlushed { block.write(to: poster) }
        poster.flush()
        Connection.serve(subscribers + [poster])
    }
}

extension [Connection] {
    /// Stops reading from each connection once the connection has received its index times `messages` messages.
    fileprivate func stop(oneAfterAnother messages: Int) {
        for (number, connection) in enumerated() where connection.scanner.count(.deliver) >= number * messages {
            connection.isReading = false
        }
    }
}
