import Synchronization

/// Notifies the running server of reloads.
package final class ReloadObserver: Sendable {
    private let action = Mutex<(@Sendable () -> Void)?>(nil)

    package init() {}

    /// Sets the action that a reload runs; `nil` for none.
    func set(_ action: (@Sendable () -> Void)?) {
        self.action.withLock { $0 = action }
    }

    func reloaded() {
        action.withLock { $0 }?()
    }
}
