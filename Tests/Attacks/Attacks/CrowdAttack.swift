import NotifyWire

/// Very many connections that subscribe to one name and do not read, and a poster of large messages to them.
final class CrowdAttack: Attack {
    private static let payload = 10_000
    private static let postsPerWrite = 300

    private let subscribers: [Connection]
    private let poster: Connection
    private var block = PostBlock(
        names: [String](repeating: "crowd", count: postsPerWrite), payload: payload)

    init(_ target: Target) throws {
        subscribers = try target.subscribers(to: "crowd")
        for connection in subscribers { connection.isReading = false }
        poster = try Connection(target.socket)
    }

    var admitted: Int { subscribers.count(.subscribed) }

    /// The bytes that the daemon has sent to the subscribers and the kernel still keeps.
    var figures: [String: Int] { ["unreadBytes": subscribers.reduce(0) { $0 + $1.unreadBytes }] }

    func step() {
        if poster.isFlushed { block.write(to: poster) }
        poster.flush()
        Connection.serve([poster])
    }
}
