import Glibc
import NotifyClient
import Testing

@testable import notifyctl

@Suite struct SubscribeRunnerTests {
    @Test func `a pending message may arrive up to a second after the log was read`() {
        let now = ContinuousClock.now
        #expect(SubscribeRunner.pendingWait(since: now, now: now) == .seconds(1))
        #expect(SubscribeRunner.pendingWait(since: now, now: now + .milliseconds(300)) == .milliseconds(700))
        #expect(SubscribeRunner.pendingWait(since: now, now: now + .seconds(2)) == .zero)
    }

    @Test func `the confirmation may take as long as the timeout, and as any answer`() {
        #expect(SubscribeRunner.openingTimeout(.zero) == AnswerTimeout.current)
        #expect(SubscribeRunner.openingTimeout(.milliseconds(1)) == AnswerTimeout.current)
        #expect(SubscribeRunner.openingTimeout(.seconds(7200)) == .seconds(7200))
    }

    @Test func `a user who pipes a durable subscription is advised to use 'work'`() throws {
        let (read, write) = try makePipe()
        let terminal = try PseudoTerminal()
        #expect(
            SubscribeRunner.pipeHint(output: write, errors: terminal.terminal)?.contains("'notifyctl work'") == true)
        #expect(SubscribeRunner.pipeHint(output: write, errors: read) == nil)
        #expect(SubscribeRunner.pipeHint(output: terminal.terminal, errors: terminal.terminal) == nil)
        close(read)
        close(write)
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
