import NotifyLog
import Testing

@testable import NotifyBroker

struct StorageHealthStateTests {
    @Test func onlyChangesAreNews() {
        var health = StorageHealth()
        let news = ["disk", "disk", "other", nil, nil].map { message in
            health.set(message.map { StorageFailure(kind: .inputOutput, message: $0) })
        }
        #expect(news == [true, false, true, true, false])
        #expect(!health.isFailing)
    }

    @Test func silenceCountsFromTheRequestUnlessStorageIsKnownToFail() {
        var health = StorageHealth()
        #expect(health.silenceDeadline(since: nil) == nil)
        #expect(health.silenceDeadline(since: .seconds(5)) == .seconds(15))
        _ = health.set(StorageFailure(kind: .full, message: "disk"))
        #expect(health.silenceDeadline(since: .seconds(5)) == nil)
    }
}
