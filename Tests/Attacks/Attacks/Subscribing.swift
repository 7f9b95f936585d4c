import NotifyWire

extension Connection {
    /// Opens `count` subscriptions, calls `patterns` with the index of each, and waits for all answers.
    ///
    /// - Returns: The number of subscriptions that the daemon has confirmed on this connection.
    @discardableResult
    func subscribe(_ count: Int, to patterns: (Int) -> [String]) -> Int {
        var next = 0
        let answers = { self.scanner.count(.subscribed) + self.scanner.count(.error) }
        let before = answers()
        Connection.serve([self], within: .seconds(120)) {
            // At most 1,024 requests are unanswered, so that neither side buffers all of them.
            while next < count, next - (answers() - before) < 1024, isFlushed || next == 0 {
                write(Subscribe(request: newRequest(), subscription: UInt32(next + 1), patterns: patterns(next)))
                next += 1
                flush()
            }
            return answers() - before >= count
        }
        return scanner.count(.subscribed)
    }

    /// Opens one subscription and waits for the answer. The subscription is durable if `durable` is not empty.
    func subscribe(to patterns: String..., durable: String = "", window: UInt32 = 0) {
        write(
            Subscribe(
                request: newRequest(), subscription: 1, patterns: patterns, durableName: durable, window: window))
        let before = scanner.count(.subscribed) + scanner.count(.error)
        Connection.serve([self]) { scanner.count(.subscribed) + scanner.count(.error) > before }
    }
}

extension Target {
    private static let connectionsPerRound = 500

    /// Opens as many connections as the size of the attack, with one subscription each. Works in rounds: each round
    /// begins when the daemon has answered all subscriptions of the previous round.
    func subscribers(to pattern: String) throws -> [Connection] {
        var connections: [Connection] = []
        while connections.count < size {
            let round = try self.connections(min(Self.connectionsPerRound, size - connections.count))
            for connection in round {
                connection.write(Subscribe(request: connection.newRequest(), subscription: 1, patterns: [pattern]))
                connection.flush()
            }
            Connection.serve(round) {
                round.count(.subscribed) + round.count(where: { !$0.isOpen }) == round.count
            }
            connections += round
        }
        return connections
    }
}
