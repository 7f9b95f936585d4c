import Testing

@testable import NotifyBroker

struct StorageHealthStateTests {
    @Test func onlyChangesAreNews() {
        var health = StorageHealth()
        let news = ["disk", "disk", "other", nil, nil].map { health.set($0) }
        #expect(news == [true, false, true, true, false])
        #expect(!health.isFailing)
    }

    @Test func silenceCountsFromTheRequestUnlessStorageIsKnownToFail() {
        var health = StorageHealth()
        #expect(health.silenceDeadline(since: nil) == nil)
        #expect(health.silenceDeadline(since: .seconds(5)) == .seconds(15))
        _ = health.set("disk")
        #expect(health.silenceDeadline(since: .seconds(5)) == nil)
    }
}
