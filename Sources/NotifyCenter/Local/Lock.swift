import Synchronization

/// A mutex whose order the thread sanitizer sees.
///
/// The sanitizer cannot look into the library that `Mutex` comes from, so it takes everything under one for a race. The
/// flag says the same as the mutex does, in code that it can see; on its own it would guard nothing.
package struct Lock<Value: ~Copyable>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    private let order = Atomic(false)

    package init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    @inline(__always)
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { value throws(Failure) in
            _ = order.load(ordering: .acquiring)
            defer { order.store(false, ordering: .releasing) }
            return try body(&value)
        }
    }
}
