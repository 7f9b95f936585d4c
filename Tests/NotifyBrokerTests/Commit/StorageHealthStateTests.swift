import NotifyLog
import Testing

@testable import NotifyBroker

struct StorageHealthStateTests {
    @Test func `each new failure and its end are reported once`() {
        var health = StorageHealth()
        let news = ["disk", "disk", "other", nil, nil].map { message in
            health.set(message.map { StorageFailure(kind: .inputOutput, message: $0) })
        }
        #expect(news == [true, false, true, true, false])
        #expect(!health.isFailing)
    }

    @Test func `the response deadline counts from the request, unless storage is failing`() {
        var health = StorageHealth()
        #expect(health.responseDeadline(since: nil) == nil)
        #expect(health.responseDeadline(since: .seconds(5)) == .seconds(15))
        _ = health.set(StorageFailure(kind: .full, message: "disk"))
        #expect(health.responseDeadline(since: .seconds(5)) == nil)
    }
}
