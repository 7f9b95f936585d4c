import Testing

@testable import NotifyCenter

/// The caching of names without observers.
@Suite struct UnobservedNameTests {
    private let center = LocalCenter()

    private func isCached(_ name: NotificationName) -> Bool {
        if case .miss = center.cache.find(name, object: nil) { false } else { true }
    }

    @Test func `a name posted repeatedly is cached`() {
        let name = NotificationName(literal: "again")
        for _ in 0..<16 { center.post(name) }
        #expect(isCached(name))
    }

    @Test func `few of the names posted once are cached`() {
        let names = (0..<1_600).map { NotificationName(unchecked: "once.\($0)") }
        for name in names { center.post(name) }
        #expect(names.count(where: isCached) == 100)
    }

    @Test func `an observed name is cached by its first post`() {
        let name = NotificationName(literal: "observed")
        let token = center.observe(name) { _ in }
        center.post(name)
        #expect(isCached(name))
        token.cancel()
    }
}
