import CenterConformance
import Testing

/// The requirements of routing that apply to every center, checked for the broker.
@Suite struct ConformanceTests {
    @Test(arguments: [false, true], CenterRequirement.routing)
    func `the broker keeps the routing rules of a center`(isDurable: Bool, _ requirement: CenterRequirement) throws {
        try requirement.check(BrokerCenter(isDurable: isDurable))
    }
}
