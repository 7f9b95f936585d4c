import NotifyClient
import Testing

@testable import notifyctl

@Suite struct SubscribeRunnerTests {
    @Test func `a pending message is waited for until a second after the confirmation`() {
        let now = ContinuousClock.now
        #expect(SubscribeRunner.pendingWait(since: now, now: now) == .seconds(1))
        #expect(SubscribeRunner.pendingWait(since: now, now: now + .milliseconds(300)) == .milliseconds(700))
        #expect(SubscribeRunner.pendingWait(since: now, now: now + .seconds(2)) == .zero)
    }

    @Test(
        arguments: [
            (.seconds(3600), "timed out after 3600 s"), (.zero, "timed out after 0 s"),
            (.milliseconds(500), "timed out after 0.5 s"),
        ] as [(Duration, String)])
    func `the timeout is printed with as many decimals as it has`(timeout: Duration, message: String) {
        #expect(SubscribeRunner.timeoutMessage(timeout) == message)
    }
}
