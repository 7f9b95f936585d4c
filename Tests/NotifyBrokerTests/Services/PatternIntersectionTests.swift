import NotifyCenter
import Testing

@testable import NotifyBroker

struct PatternIntersectionTests {
    @Test func `the names that match two patterns are those that match their intersection`() throws {
        let tokens = ["a", "b"]
        let names =
            tokens + tokens.flatMap { first in tokens.map { "\(first).\($0)" } }
            + tokens.flatMap { first in tokens.flatMap { second in tokens.map { "\(first).\(second).\($0)" } } }
        let parts = ["a", "b", "*"]
        let heads = parts + parts.flatMap { first in parts.map { "\(first).\($0)" } }
        let patterns = try (heads + heads.map { "\($0).>" } + [">"]).map { try NamePattern($0) }
        for left in patterns {
            for right in patterns {
                let both = try names.filter {
                    let name = try NotificationName($0)
                    return left.matches(name) && right.matches(name)
                }
                let intersection = left.intersection(right)
                let matching = try names.filter { try intersection?.matches(NotificationName($0)) ?? false }
                #expect(matching == both, "\(left) and \(right)")
                #expect((intersection == nil) == both.isEmpty, "\(left) and \(right)")
            }
        }
    }

    @Test func `patterns whose common names are too long have no intersection`() throws {
        let token = String(repeating: "a", count: NotificationName.maximumBytes / 2)
        let (left, right) = (try NamePattern("*.\(token)a"), try NamePattern("\(token)a.*"))
        #expect(left.intersection(right) == nil)
        let short = try NamePattern("\(token).*")
        #expect(try NamePattern("*.b").intersection(short) == NamePattern("\(token).b"))
    }
}
