import Foundation

/// Runs the body on another thread, and returns when it has returned. The caller's actor is busy meanwhile.
func onOtherThread(_ body: @escaping @Sendable () -> Void) {
    let isDone = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        body()
        isDone.signal()
    }
    isDone.wait()
}
