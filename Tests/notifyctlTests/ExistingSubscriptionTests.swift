import NotifyClient
import Testing

@testable import notifyctl

@Suite struct ExistingSubscriptionTests {
    @Test func `a start without effect is reported`() {
        #expect(
            ExistingSubscription.startNotice("d", .oldest, resumedAfter: 7)
                == "'d' exists and resumes after sequence 7, not at --from; to move it, use 'notifyctl durable reset'")
        #expect(ExistingSubscription.startNotice("d", .oldest, resumedAfter: nil) == nil)
        #expect(ExistingSubscription.startNotice("d", nil, resumedAfter: 7) == nil)
        #expect(ExistingSubscription.startNotice(nil, .oldest, resumedAfter: nil) == nil)
    }

    @Test func `settings without effect are reported with the values that stay`() {
        let existing = NotificationClient.DurableSettings(
            deadline: .seconds(30), retryDelays: [.seconds(1), .seconds(10)], maximumDeliveries: 5, maximumInFlight: 0)
        func notice(_ settings: NotificationClient.DurableSettings) -> String? {
            ExistingSubscription.settingsNotice("w", settings, existing: existing)
        }
        let advice = "; to change this, use 'notifyctl durable set'"
        #expect(notice(.init(deadline: .zero)) == "'w' exists and keeps --deadline 30s" + advice)
        #expect(
            notice(.init(deadline: .seconds(30), retryDelays: [.seconds(1)], maximumDeliveries: 6))
                == "'w' exists and keeps --retry-after 1s,10s --max-deliveries 5" + advice)
        #expect(notice(.init(maximumInFlight: 1)) == "'w' exists and keeps --in-flight 0" + advice)
        #expect(notice(existing) == nil && notice(.init()) == nil)
    }
}
