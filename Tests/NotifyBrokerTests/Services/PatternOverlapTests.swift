import NotifyCenter
import Testing

@testable import NotifyBroker

struct PatternOverlapTests {
    @Test func `patterns overlap if some name matches both`() throws {
        let tokens = ["a", "b"]
        let names =
            tokens + tokens.flatMap { first in tokens.map { "\(first).\($0)" } }
            + tokens.flatMap { first in tokens.flatMap { second in tokens.map { "\(first).\(second).\($0)" } } }
        let parts = ["a", "b", "*"]
        let heads = parts + parts.flatMap { first in parts.map { "\(first).\($0)" } }
        let patterns = try (heads + heads.map { "\($0).>" } + [">"]).map { try NamePattern($0) }
        for left in patterns {
            for right in patterns {
                let isExpected = try names.contains {
                    let name = try NotificationName($0)
                    return left.matches(name) && right.matches(name)
                }
                #expect(left.overlaps(right) == isExpected, "\(left) and \(right)")
            }
        }
    }
}
