import Foundation
import NotifyCenter

/// The growth of the cost of a post with the number of names and patterns.
func growingCases() -> [Case] {
    [
        Case("post, 10 to 100000 names, against a dictionary", .atMost(2)) { try growth(to: 100_000) },
        Case("post to 1 beside 1000 patterns, against none", .atMost(1.1)) { try besidePatterns(1_000) },
        Case("post to 1 beside 100000 patterns, against none", .atMost(1.1)) { try besidePatterns(100_000) },
    ]
}

/// Compares two ratios: the cost of a post with many names to the cost with ten names, and the same ratio for look-ups
/// in a dictionary.
private func growth(to count: Int) throws -> (Contender, Contender) {
    let few = try names(10)
    let many = try names(count)
    let center = LocalCenter()
    let tally = Tally()
    let tokens = many.map { center.observe($0) { _ in tally.add() } }
    let fewTallies = Dictionary(uniqueKeysWithValues: few.map { ($0.string, tally) })
    let manyTallies = Dictionary(uniqueKeysWithValues: many.map { ($0.string, tally) })
    return (
        {
            let post = { (name: NotificationName) in center.post(name) }
            return withExtendedLifetime(tokens) { each(many, count, post) / each(few, count, post) }
        },
        {
            each(many, count) { manyTallies[$0.string]?.add() } / each(few, count) { fewTallies[$0.string]?.add() }
        }
    )
}

private func each(_ names: [NotificationName], _ count: Int, _ body: (NotificationName) -> Void) -> Double {
    processorTime {
        var index = 0
        for _ in 0..<count {
            body(names[index])
            index = index + 1 == names.count ? 0 : index + 1
        }
    }
}

/// Names in random order, so that processor caches do not profit from the order.
private func names(_ count: Int) throws -> [NotificationName] {
    try (0..<count).map { try NotificationName("orders.\($0 % 7).created.\($0)") }.shuffled()
}

/// Compares a post to one observer in two centers: one with many other observers whose patterns do not match, and one
/// without other observers.
private func besidePatterns(_ count: Int) throws -> (Contender, Contender) {
    let crowded = Centers()
    let lonely = Centers()
    let patterns = try (0..<count).map { try NamePattern("orders.*.in.\($0)") }
    let tokens = patterns.map { crowded.ours.observe($0) { _ in } }
    return (
        crowded.posts(100_000, holding: tokens + [crowded.observe()]) { count in
            for _ in 0..<count { crowded.ours.post(.created) }
        },
        lonely.posts(100_000, holding: [lonely.observe()]) { count in
            for _ in 0..<count { lonely.ours.post(.created) }
        }
    )
}
