import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import NotifyServer

struct WakeUpPipeTests {
    @Test func eachRaiseCallsTheActionOnceAndLaterThanTasks() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let order = Mutex<[String]>([])
        let calls = Mutex(0)
        let done = loop.makePromise(of: Void.self)
        let pipe = try await WakeUpPipe.open(on: loop) {
            order.withLock { $0.append("event") }
            if calls.withLock({
                $0 += 1; return $0 == 2
            }) {
                done.succeed()
            }
        }
        try await loop.submit {
            pipe.raise()
            // A task that tasks add comes before events.
            loop.execute {
                order.withLock { $0.append("task") }
                loop.execute { order.withLock { $0.append("task") } }
            }
        }.get()
        while calls.withLock({ $0 }) == 0 { await Task.yield() }
        pipe.raise()
        try await done.futureResult.get()
        pipe.close()
        #expect(order.withLock { $0 } == ["task", "task", "event", "event"])
    }
}
