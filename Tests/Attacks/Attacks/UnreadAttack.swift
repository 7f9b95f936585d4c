import NotifyWire

/// Connections that keep sending requests and posts with receipts, and do not read the answers.
final class UnreadAttack: Attack {
    private static let durables = 500
    private static let bytes = 1 << 20

    private let connections: [Connection]
    private let requests = [
        Batch.of(ListRequest(request: 1), bytes: bytes), Batch.of(StatisticsRequest(request: 1), bytes: bytes),
        Batch.of(Detach(request: 1, subscription: 7), bytes: bytes), Batch.of(Ping(request: 1), bytes: bytes),
    ]
    private var posts = PostBlock(names: [String](repeating: "unread.post", count: 4096), payload: 0, receipt: true)

    init(_ target: Target) throws {
        // There are many durable subscriptions, so that the answer to a list request is long.
        let owner = try Connection(target.socket)
        for number in 0..<Self.durables {
            owner.write(
                Subscribe(
                    request: owner.newRequest(), subscription: UInt32(number + 1),
                    patterns: (0..<16).map { "unread.listed.\(number).\($0).>" }, durableName: "unread-\(number)"))
        }
        Connection.serve([owner]) { owner.scanner.count(.subscribed) + owner.scanner.count(.error) >= Self.durables }
        connections = try target.connections(target.size)
        Connection.serve(connections) {
            connections.count(.welcome) + connections.count(where: { !$0.isOpen }) == connections.count
        }
        for connection in connections { connection.isReading = false }
    }

    var admitted: Int { connections.count(.welcome) }

    func step() {
        for (index, connection) in connections.enumerated() where connection.isFlushed {
            let kind = index % (requests.count + 1)
            if kind < requests.count { connection.write(shared: requests[kind]) } else { posts.write(to: connection) }
            connection.flush()
        }
        Connection.serve(connections)
    }
}
