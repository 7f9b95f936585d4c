import TestSupport
import Testing

/// What every center promises about who gets a post, by the broker.
@Suite struct ConformanceTests {
    @Test(arguments: [false, true], CenterRequirement.routing)
    func `the broker keeps the routing rules of a center`(isDurable: Bool, _ requirement: CenterRequirement) throws {
        try requirement.check(BrokerCenter(isDurable: isDurable))
    }
}
