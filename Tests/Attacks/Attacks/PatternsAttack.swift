import NotifyWire

/// The maximum number of patterns of one connection, each with 32 tokens and without a common prefix.
final class PatternsAttack: Attack {
    private static let tokens = 32

    private let connection: Connection
    private let subscriptions: Int

    init(_ target: Target) throws {
        let connection = try Connection(target.socket)
        // With a wildcard, because a pattern without one is stored as a name.
        let rest = (["*"] + (2..<Self.tokens).map { "t\($0)" }).joined(separator: ".")
        subscriptions = connection.subscribe(target.size) { number in
            (0..<Limits.patternsPerSubscription).map { "p\(number)-\($0).\(rest)" }
        }
        self.connection = connection
    }

    var admitted: Int { subscriptions }

    func step() {
        Connection.serve([connection])
    }

    /// The number of tokens that are stored: no two patterns begin with the same token, so they share none.
    var figures: [String: Int] {
        ["tokens": subscriptions * Limits.patternsPerSubscription * Self.tokens]
    }
}
