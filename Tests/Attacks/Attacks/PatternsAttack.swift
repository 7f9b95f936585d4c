import NotifyWire

/// One connection with the maximum number of patterns. Each pattern has 32 tokens, and no two patterns begin with the
/// same token.
final class PatternsAttack: Attack {
    private static let tokens = 32

    private let connection: Connection
    private let subscriptions: Int

    init(_ target: Target) throws {
        let connection = try Connection(target.socket)
        // The wildcard is necessary, because a pattern without wildcards is stored as a name.
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

    /// The number of stored tokens. No two patterns begin with the same token, so every token of each pattern is
    /// stored.
    var figures: [String: Int] {
        ["tokens": subscriptions * Limits.patternsPerSubscription * Self.tokens]
    }
}
