import Foundation

/// Runs a closure on another thread, and blocks until the closure returns. The caller's actor is busy until then.
func onOtherThread(_ body: @escaping @Sendable () -> Void) {
    let isDone = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        body()
        isDone.signal()
    }
    isDone.wait()
}
