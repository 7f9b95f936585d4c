import Synchronization

/// A mutex that the thread sanitizer understands.
///
/// The sanitizer does not see into the library that `Mutex` comes from, so it reports everything under one as a race. In
/// its build, which defines `THREAD_SANITIZER`, an atomic flag repeats the order of the mutex in instrumented code; on its
/// own the flag would guard nothing. In every other build a `Lock` is a `Mutex`.
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

    /// Takes and releases the lock in the thread sanitizer's build; does nothing in every other build.
    ///
    /// The sanitizer does not see the order that a continuation establishes when it is resumed before its task suspends.
    /// Called after the suspension, this establishes it again, from the last use of the lock before the resumption.
    @inline(__always)
    package func repeatOrderForSanitizer() {
        #if THREAD_SANITIZER
            withLock { _ in }
        #endif
    }
}
