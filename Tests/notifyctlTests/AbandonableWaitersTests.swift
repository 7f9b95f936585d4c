import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import notifyctl

@Suite struct AbandonableWaitersTests {
    private let loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()

    @Test func `a result and an error of the future end the wait`() async throws {
        struct Broken: Error {}
        let waiters = AbandonableWaiters()
        #expect(try await waiters.wait(for: loop.makeSucceededFuture(3)) == 3)
        await #expect(throws: Broken.self) {
            _ = try await waiters.wait(for: loop.makeFailedFuture(Broken()) as EventLoopFuture<Int>)
        }
    }

    @Test func `abandoning ends present and later waits, and a later result has no effect`() async throws {
        let waiters = AbandonableWaiters()
        let promise = loop.makePromise(of: Int.self)
        async let result = waiters.wait(for: promise.futureResult)
        waiters.abandon()
        #expect(try await result == nil)
        promise.succeed(3)
        #expect(try await waiters.wait(for: promise.futureResult) == nil)
    }

    @Test func `a limit ends present and later waits after its time`() async throws {
        let clock = ManualClock()
        let waiters = AbandonableWaiters(clock: clock)
        let promise = loop.makePromise(of: Int.self)
        let present = Task.immediate { try await waiters.wait(for: promise.futureResult) }
        waiters.limitWaits(to: .seconds(3))
        await clock.waitForSleeper(until: .seconds(3))
        clock.advance(to: .seconds(1))
        #expect(try await waiters.wait(for: loop.makeSucceededFuture(3)) == 3)
        let later = Task.immediate { try await waiters.wait(for: promise.futureResult) }
        await clock.waitForSleeper(until: .seconds(4))
        clock.advance(to: .seconds(4))
        #expect(try await present.value == nil)
        #expect(try await later.value == nil)
        promise.succeed(3)
    }
}
