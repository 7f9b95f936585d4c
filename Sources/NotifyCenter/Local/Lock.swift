import Synchronization

/// A mutex that the thread sanitizer supports.
///
/// The sanitizer does not instrument the library that contains `Mutex`, and reports accesses under a `Mutex` as races.
/// Builds for the sanitizer define `THREAD_SANITIZER`. There, an atomic flag in instrumented code repeats the ordering
/// of the mutex; the flag alone would not exclude other threads. In all other builds a `Lock` is a `Mutex`.
package struct Lock<Value: ~Copyable>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    #if THREAD_SANITIZER
        private let order = Atomic(false)
    #endif

    package init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    @inline(__always)
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        #if THREAD_SANITIZER
            try mutex.withLock { value throws(Failure) in
                _ = order.load(ordering: .acquiring)
                defer { order.store(false, ordering: .releasing) }
                return try body(&value)
            }
        #else
            try mutex.withLock(body)
        #endif
    }

    /// Acquires and releases the lock in builds for the thread sanitizer; does nothing in other builds.
    ///
    /// If a continuation is resumed before its task suspends, the sanitizer does not detect that the task continues
    /// after the resumption. Call this method after the suspension: it orders the task after the thread that resumed
    /// it, if that thread used the lock before the resumption.
    @inline(__always)
    package func repeatOrderForSanitizer() {
        #if THREAD_SANITIZER
            withLock { _ in }
        #endif
    }
}
