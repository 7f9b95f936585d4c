import Synchronization

/// Passes a reload on to the server while that is running.
package final class ReloadHook: Sendable {
    private let action = Mutex<(@Sendable () -> Void)?>(nil)

    package init() {}

    /// Sets what a reload does, or nil for nothing.
    func set(_ action: (@Sendable () -> Void)?) {
        self.action.withLock { $0 = action }
    }

    func call() {
        action.withLock { $0 }?()
    }
}
