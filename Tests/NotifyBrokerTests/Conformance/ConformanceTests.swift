import TestSupport
import Testing

/// What every center promises about who gets a post, by the broker.
@Suite struct ConformanceTests {
    @Test(arguments: [false, true], CenterPromise.routing)
    func `the broker keeps the routing rules of a center`(isDurable: Bool, _ promise: CenterPromise) throws {
        try promise.check(BrokerCenter(isDurable: isDurable))
    }
}
