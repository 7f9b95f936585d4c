import Foundation
@_spi(Package) import NotifyCenter
import Synchronization

/// Runs `body` on `count` threads that begin together, and returns their results in the order of the threads.
///
/// `body` may block for a bounded time, because these threads do not belong to the task executor, which may have only
/// one thread.
///
/// - Parameter body: Receives the number of its thread, from 0.
/// - Throws: If threads threw errors, the error of the lowest-numbered of these threads, after all threads have ended.
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

/// The state of one call of `onThreads`: the number of threads that have begun, and the results of those that have
/// ended.
private final class Threads<Value: Sendable>: Sendable {
    private let count: Int
    private let begun = Atomic(0)
    private let results = Lock<[Int: Value]>([:])

    init(count: Int) {
        self.count = count
    }

    /// Returns once every thread has called this method. Spins, because waking a thread takes longer than most bodies
    /// run.
    func waitForAll() {
        begun.wrappingAdd(1, ordering: .acquiringAndReleasing)
        while begun.load(ordering: .acquiring) < count { sched_yield() }
    }

    /// Adds a result.
    ///
    /// - Returns: All results if this result is the last one, otherwise nil.
    func finish(_ number: Int, _ result: Value) -> [Value]? {
        results.withLock { results in
            results[number] = result
            return results.count == count ? (0..<count).compactMap { results[$0] } : nil
        }
    }
}
