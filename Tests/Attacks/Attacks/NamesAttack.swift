import NotifyWire

/// Many subscriptions to '>' and posts under many names, so that the cached resolution of each name is as large as
/// possible.
final class NamesAttack: Attack {
    private static let names = 16_000
    private static let perConnection = 4000

    private let subscribers: [Connection]
    private let poster: Connection
    private var block: PostBlock

    init(_ target: Target) throws {
        subscribers = try target.connections((target.size + Self.perConnection - 1) / Self.perConnection)
        poster = try Connection(target.socket)
        block = PostBlock(names: (0..<Self.names).map { "name.n\($0)" }, payload: 0)
        var left = target.size
        for subscriber in subscribers {
            subscriber.subscribe(min(left, Self.perConnection)) { _ in [">"] }
            left -= Self.perConnection
        }
    }

    var admitted: Int { subscribers.count(.subscribed) }

    func step() {
        if poster.isFlushed { block.write(to: poster) }
        poster.flush()
        Connection.serve(subscribers + [poster])
    }
}
