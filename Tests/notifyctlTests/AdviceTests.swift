import Testing

@testable import NotifyClient
@testable import notifyctl

@Suite struct AdviceTests {
    @Test func `the advice about an unknown subscription mentions that another user may own it`() {
        let error = NotifyError(.unknownSubscription, "user 1000 has no durable subscription 'd1'", isRefusal: true)
        #expect(
            Notifyctl.advice(for: error)
                == "; 'notifyctl durable list' shows those that you may see; with the right to manage everything, "
                + "--user names another owner")
    }

    @Test func `other errors have no advice about subscriptions`() {
        #expect(Notifyctl.advice(for: NotifyError(.unknownSubscription, "no subscription 7", isRefusal: true)) == "")
        #expect(Notifyctl.advice(for: NotifyError(.noDaemon, "no")) == "; 'notifyctl doctor' reports why")
    }
}
