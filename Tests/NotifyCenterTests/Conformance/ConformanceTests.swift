import TestSupport
import Testing

/// What every center promises, by the one of this library.
@Suite struct ConformanceTests {
    enum Coat: CaseIterable {
        case core, tokens, owners

        func make() -> any ConformingCenter {
            switch self {
            case .core: CoreCenter()
            case .tokens: TokenCenter()
            case .owners: OwnerCenter()
            }
        }
    }

    @Test(arguments: Coat.allCases, CenterPromise.allCases)
    func keeps(_ coat: Coat, _ promise: CenterPromise) throws { try promise.check(coat.make()) }
}
