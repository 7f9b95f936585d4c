import CenterConformance
import Testing

/// Checks the conformance requirements on each center of this library.
@Suite struct ConformanceTests {
    enum Variant: CaseIterable {
        case core, tokens, owners

        func make() -> any ConformingCenter {
            switch self {
            case .core: CoreCenter()
            case .tokens: TokenCenter()
            case .owners: OwnerCenter()
            }
        }
    }

    @Test(arguments: Variant.allCases, CenterRequirement.allCases)
    func `every center meets the requirement`(_ variant: Variant, _ requirement: CenterRequirement) throws {
        try requirement.check(variant.make())
    }
}
