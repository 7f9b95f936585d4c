public import Synchronization

/// A mutex that the thread sanitizer supports.
///
/// The sanitizer does not instrument the library that contains `Mutex`, so it would report accesses under a `Mutex` as
/// races, in every program that uses this package. An atomic flag in instrumented code repeats the ordering of the
/// mutex. The flag alone would not exclude other threads. Its cost is a load and a store beside the mutex.
///
/// For the modules of this package. The compiler inlines no members of a `package` type into other modules, and
/// `withLock` would then look up metadata at run time in each call.
@_spi(Package)
public struct Lock<Value: ~Copyable>: ~Copyable, Sendable {
    @usableFromInline
    let mutex: Mutex<Value>
    @usableFromInline
    let order = Atomic(false)

    /// Creates a lock that protects the value.
    @inlinable
    public init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Calls `body` with exclusive access to the value.
    @inlinable
    @inline(__always)
    public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { value throws(Failure) in
            repeatOrder()
            defer { order.store(false, ordering: .releasing) }
            return try body(&value)
        }
    }

    /// Orders the caller after the thread that used the lock last, for the thread sanitizer.
    ///
    /// If a continuation is resumed before its task suspends, the sanitizer does not detect that the task continues
    /// after the resumption. Call this method after the suspension: it orders the task after the thread that resumed
    /// it, if that thread used the lock before the resumption.
    @inlinable
    @inline(__always)
    public func repeatOrder() {
        _ = order.load(ordering: .acquiring)
    }
}
