import NIOCore
import NIOPosix
import Testing

@testable import NotifyServer

struct WakeUpPipeTests {
    @Test func `each signal calls the action once, after pending tasks`() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let (order, continuation) = AsyncStream.makeStream(of: String.self)
        let pipe = try await WakeUpPipe.open(on: loop) { continuation.yield("event") }
        try await loop.submit {
            pipe.signal()
            // Tasks that are added by other tasks also run before the loop processes events.
            loop.execute {
                continuation.yield("task")
                loop.execute { continuation.yield("task") }
            }
        }.get()
        var seen: [String] = []
        var iterator = order.makeAsyncIterator()
        while seen.count < 3, let next = await iterator.next() { seen.append(next) }
        #expect(seen == ["task", "task", "event"])
        pipe.signal()
        #expect(await iterator.next() == "event")
        pipe.close()
    }
}
