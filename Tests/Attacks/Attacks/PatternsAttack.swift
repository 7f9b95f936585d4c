import NotifyWire

/// As many patterns as one connection may have, as long as they may be, with no beginning in common.
final class PatternsAttack: Attack {
    private static let tokens = 32

    private let link: Link
    private let subscriptions: Int

    init(_ target: Target) throws {
        let link = try Link(target.socket)
        // A wildcard, as a pattern without one is but a name.
        let rest = (["*"] + (2..<Self.tokens).map { "t\($0)" }).joined(separator: ".")
        subscriptions = link.subscribe(target.size) { number in
            (0..<Limits.patternsPerSubscription).map { "p\(number)-\($0).\(rest)" }
        }
        self.link = link
    }

    func step() {
        Link.serve([link])
    }

    /// No two patterns begin with the same token, so each token of each has a place of its own.
    var figures: [String: Int] {
        ["tokens": subscriptions * Limits.patternsPerSubscription * Self.tokens]
    }
}
