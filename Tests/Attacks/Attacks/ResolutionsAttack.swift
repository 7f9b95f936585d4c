import NotifyWire
import TestSupport

/// Subscriptions with many patterns of "a" and "*" tokens that share prefixes, so resolving a new name follows all of
/// these patterns. Posts in batches; each post has a new name.
final class ResolutionsAttack: Attack {
    private static let tokens = 18
    private static let posts = 400

    private let connection: Connection
    private var round = 0

    init(_ target: Target) throws {
        connection = try Connection(target.socket)
        var generator = target.generator
        connection.subscribe(target.size) { _ in
            (0..<Limits.patternsPerSubscription).map { _ in
                (0..<Self.tokens).map { _ in Bool.random(using: &generator) ? "a" : "*" }.joined(separator: ".")
            }
        }
    }

    var admitted: Int { connection.scanner.count(.subscribed) }

    func step() {
        round += 1
        let beginning = [String](repeating: "a", count: Self.tokens - 1).joined(separator: ".")
        var block = PostBlock(
            names: (0..<Self.posts).map { "\(beginning).n\(self.round)-\($0)" }, payload: 0)
        block.write(to: connection)
        connection.write(Ping(request: connection.newRequest()))
        let pongs = connection.scanner.count(.pong)
        Connection.serve([connection], within: .seconds(1)) { connection.scanner.count(.pong) > pongs }
    }
}
