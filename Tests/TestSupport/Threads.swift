import Foundation
import NotifyCenter
import Synchronization

/// Runs `body` on `count` threads that begin together, and returns their results in the order of the threads.
///
/// These are not threads of the task executor, of which there may be only one: `body` may block for a bounded time.
///
/// - Parameter body: Receives the number of its thread, from 0.
/// - Throws: The error of the thread with the lowest number that threw one, after all threads have ended.
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

/// The state of one call: the number of threads that have begun, and the results of those that have ended.
private final class Threads<Value: Sendable>: Sendable {
    private let count: Int
    private let begun = Atomic(0)
    private let results = Lock<[Int: Value]>([:])

    init(count: Int) {
        self.count = count
    }

    /// Returns once every thread has called it. Spins, because waking a thread would take longer than most bodies.
    func waitForAll() {
        begun.wrappingAdd(1, ordering: .acquiringAndReleasing)
        while begun.load(ordering: .acquiring) < count { sched_yield() }
    }

    /// Adds a result.
    ///
    /// - Returns: All results if this is the last one, otherwise nil.
    func finish(_ number: Int, _ result: Value) -> [Value]? {
        results.withLock { results in
            results[number] = result
            return results.count == count ? (0..<count).compactMap { results[$0] } : nil
        }
    }
}
