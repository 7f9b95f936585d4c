import Foundation
import NotifyCenter
import Synchronization

/// Runs `body` on as many threads, which begin together, and returns their results in the order of their numbers.
///
/// The threads are not those of tasks, of which there may be a single one: `body` may block, for a bounded time.
///
/// - Parameter body: Receives the number of its thread, from 0.
/// - Throws: The error of the lowest thread that threw one, after all threads have ended.
@discardableResult
package func onThreads<Value: Sendable, Failure: Error>(
    _ count: Int, _ body: @escaping @Sendable (_ thread: Int) throws(Failure) -> Value
) async throws(Failure) -> [Value] {
    let threads = Threads<Result<Value, Failure>>(count: count)
    let results: [Result<Value, Failure>] = await completion { complete in
        for number in 0..<count {
            Thread.detachNewThread {
                threads.waitForAll()
                let result = Result { () throws(Failure) in try body(number) }
                if let all = threads.finish(number, result) { complete(all) }
            }
        }
    }
    return try results.map { (result) throws(Failure) in try result.get() }
}

/// The threads of one call: how many have begun, and what those that have ended returned.
private final class Threads<Value: Sendable>: Sendable {
    private let count: Int
    private let begun = Atomic(0)
    private let results = Lock<[Int: Value]>([:])

    init(count: Int) {
        self.count = count
    }

    /// Returns when every thread has called it. The wait is active: waking a thread would take longer than many a body.
    func waitForAll() {
        begun.wrappingAdd(1, ordering: .acquiringAndReleasing)
        while begun.load(ordering: .acquiring) < count { sched_yield() }
    }

    /// Adds a result. Returns all of them if it is the last.
    func finish(_ number: Int, _ result: Value) -> [Value]? {
        results.withLock { results in
            results[number] = result
            return results.count == count ? (0..<count).compactMap { results[$0] } : nil
        }
    }
}
