import NotifyWire
import TestSupport

/// Many patterns of "a" and "*" tokens that share their prefixes, so that resolving a new name follows all of them, and
/// batches of posts that each have a new name.
final class ResolutionsAttack: Attack {
    private static let tokens = 18
    private static let posts = 400

    private let link: Link
    private var round = 0

    init(_ target: Target) throws {
        link = try Link(target.socket)
        var generator = target.generator
        link.subscribe(target.size) { _ in
            (0..<Limits.patternsPerSubscription).map { _ in
                (0..<Self.tokens).map { _ in Bool.random(using: &generator) ? "a" : "*" }.joined(separator: ".")
            }
        }
    }

    func step() {
        round += 1
        let beginning = [String](repeating: "a", count: Self.tokens - 1).joined(separator: ".")
        var block = PostBlock(
            names: (0..<Self.posts).map { "\(beginning).n\(self.round)-\($0)" }, payload: 0)
        block.write(to: link)
        link.write(Ping(request: link.newRequest()))
        let pongs = link.scanner.count(.pong)
        Link.serve([link], within: .seconds(1)) { link.scanner.count(.pong) > pongs }
    }
}
