import NotifyCenter
import NotifyLog
import Testing

@Suite struct SubscriptionFilterTests {
    @Test func `a leading wildcard does not match the daemon's own names`() throws {
        let filter = SubscriptionFilter(patterns: [NamePattern(">"), NamePattern("notifyd.a")])
        let matches = { (name: String) in Array(name.utf8).withUnsafeBytes { filter.matches(name: $0) } }
        #expect(matches("x") && matches("user.1001.a") && matches("notifyd.a"))
        #expect(!matches("notifyd.b"))
    }
}
