import Glibc
import TestSupport
import Testing

@testable import notifyctl

@Suite(.timeLimit(.minutes(25))) struct InterruptionTests {
    @Test func `a timeout interrupts, even if it is zero`() async {
        for timeout in [Duration.zero, .milliseconds(20)] {
            let (interruption, clock) = (Interruption(), ManualClock())
            async let watching: Void = interruption.watchTime(for: timeout, clock: clock)
            if timeout > .zero {
                await clock.waitForSleeper(until: timeout)
                #expect(interruption.reason == nil)
                clock.advance(to: timeout)
            }
            await watching
            #expect(await interruption.wait() == .timeout)
            #expect(Blocking.poll([(interruption.descriptor, POLLIN)], isWaiting: false) == [POLLIN])
        }
    }

    @Test func `the timeout waits for its precondition`() async {
        let interruption = Interruption()
        await interruption.watchTime(for: .zero, clock: ManualClock()) {
            #expect(interruption.reason == nil)
            return true
        }
        #expect(interruption.reason == .timeout)
    }

    @Test func `the timeout does not interrupt if its precondition is false`() async {
        let interruption = Interruption()
        await interruption.watchTime(for: .zero, clock: ManualClock()) { false }
        #expect(interruption.reason == nil)
    }

    @Test func `the end of the output's reader interrupts, even if nothing is written`() async throws {
        let (read, write) = try makePipe()
        let (interruption, clock) = (Interruption(), ManualClock())
        async let watching: Void = interruption.watchReader(of: write, clock: clock)
        #expect(interruption.reason == nil)
        close(read)
        await clock.waitForSleeper(until: Interruption.signalDelay)
        #expect(interruption.reason == nil, "a signal may follow")
        clock.advance(to: Interruption.signalDelay)
        #expect(await interruption.wait() == .readerClosed)
        await watching
        close(write)
    }

    @Test func `the sources of an interruption end without interrupting if they are cancelled`() async throws {
        let (read, write) = try makePipe()
        let interruption = Interruption()
        let watching = Task {
            async let time: Void = interruption.watchTime(for: .seconds(3600), clock: ManualClock())
            async let reader: Void = interruption.watchReader(of: write)
            _ = await (time, reader)
        }
        watching.cancel()
        await watching.value
        #expect(interruption.reason == nil)
        close(read)
        close(write)
    }

    @Test func `only the first reason of an interruption is kept`() async {
        let interruption = Interruption()
        interruption.interrupt(.signal)
        interruption.interrupt(.timeout)
        #expect(interruption.reason == .signal)
        #expect(await interruption.wait() == .signal)
    }

    @Test func `an interruption ends every wait, and a cancellation ends only its own wait`() async {
        let interruption = Interruption()
        async let first = interruption.wait()
        async let second = interruption.wait(atMost: .seconds(3600))
        let cancelled = Task { await interruption.wait() }
        cancelled.cancel()
        #expect(await cancelled.value == nil)
        interruption.interrupt(.failure)
        #expect(await [first, second] == [.failure, .failure])
    }

    @Test func `a wait for an interruption ends after its limit`() async {
        let (interruption, clock) = (Interruption(), ManualClock())
        async let reason = interruption.wait(atMost: .seconds(2), clock: clock)
        await clock.waitForSleeper(until: .seconds(2))
        clock.advance(to: .seconds(2))
        #expect(await reason == nil)
    }

    @Test func `a cancelled task does not wait for an interruption`() async {
        let interruption = Interruption()
        let waiting = Task { await interruption.wait() }
        waiting.cancel()
        #expect(await waiting.value == nil)
    }
}
