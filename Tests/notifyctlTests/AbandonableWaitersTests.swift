import NIOCore
import NIOPosix
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
}
