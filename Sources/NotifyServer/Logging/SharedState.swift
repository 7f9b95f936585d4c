import Glibc

/// A value that threads share, guarded by a lock. Threads can wait for its changes.
///
/// `@unchecked Sendable`: the value is accessed only while the lock is held.
final class SharedState<Value>: @unchecked Sendable {
    private var value: Value
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>

    init(_ value: Value) {
        self.value = value
        lock = .allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
        changed = .allocate(capacity: 1)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // Setting the wall clock must not change time limits.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(changed)
        changed.deallocate()
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    /// Changes the value, and wakes the threads that wait.
    func change(_ body: (inout Value) -> Void) {
        pthread_mutex_lock(lock)
        body(&value)
        pthread_cond_broadcast(changed)
        pthread_mutex_unlock(lock)
    }

    /// Waits until `body` returns a result. `body` is called at once and after each change, and may change the value.
    ///
    /// - Parameter limit: The time limit; nil for none.
    /// - Returns: Nil if the time limit has passed.
    @discardableResult
    func wait<Result>(atMost limit: Duration? = nil, for body: (inout Value) -> Result?) -> Result? {
        let end = limit.map { timespec(monotonicNowPlus: $0) }
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while true {
            if let result = body(&value) { return result }
            guard var end else {
                pthread_cond_wait(changed, lock)
                continue
            }
            if pthread_cond_timedwait(changed, lock, &end) == ETIMEDOUT { return body(&value) }
        }
    }
}

extension timespec {
    /// A time of the monotonic clock.
    fileprivate init(monotonicNowPlus duration: Duration) {
        self.init()
        clock_gettime(CLOCK_MONOTONIC, &self)
        let (seconds, attoseconds) = duration.components
        let nanoseconds = tv_nsec + Int(attoseconds / 1_000_000_000)
        tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
        tv_nsec = nanoseconds % 1_000_000_000
    }
}
