import NotifyWire

/// Very many connections that subscribe and are then closed, thousands at once, repeatedly.
final class StormAttack: Attack {
    private static let closedAtOnce = 5_000

    private let target: Target
    private var connections: [Connection]
    let admitted: Int

    init(_ target: Target) throws {
        self.target = target
        connections = try target.subscribers(to: "storm.>")
        admitted = connections.count(.subscribed)
    }

    func step() {
        close()
        if let opened = try? target.subscribers(to: "storm.>") { connections = opened }
    }

    /// Closes the connections in rounds. Each round begins when the daemon has served the previous one.
    private func close() {
        while !connections.isEmpty {
            connections.removeLast(min(Self.closedAtOnce, connections.count))
            connections.last?.awaitPong()
        }
    }
}
