import Glibc
import Testing

@testable import notifyctl

@Suite(.timeLimit(.minutes(10))) struct InterruptionTests {
    @Test func `the end of the time interrupts, also at once`() async throws {
        let quiet = Signal()
        for timeout in [Duration.zero, .milliseconds(20)] {
            let start = ContinuousClock.now
            let interruption = Interruption(output: quiet.descriptor, timeout: timeout)
            #expect(await interruption.wait() == .timeout)
            #expect(ContinuousClock.now - start >= timeout)
            #expect(interruption.reason == .timeout)
        }
    }

    @Test func `a reader that goes away interrupts without a write`() async throws {
        let (read, write) = try makePipe()
        let interruption = Interruption(output: write, timeout: nil)
        #expect(interruption.reason == nil)
        close(read)
        #expect(await interruption.wait() == .readerGone)
        close(write)
    }

    @Test func `a cancelled task does not wait`() async {
        let quiet = Signal()
        let interruption = Interruption(output: quiet.descriptor, timeout: .seconds(600))
        let waiting = Task { await interruption.wait() }
        waiting.cancel()
        #expect(await waiting.value == nil)
    }
}
