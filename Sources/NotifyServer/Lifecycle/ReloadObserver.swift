import Synchronization

/// Notifies the running server of reloads.
package final class ReloadObserver: Sendable {
    private let action = Mutex<(@Sendable (ServerConfiguration?) -> Void)?>(nil)

    package init() {}

    /// Sets the action that a reload runs; `nil` for none.
    func set(_ action: (@Sendable (ServerConfiguration?) -> Void)?) {
        self.action.withLock { $0 = action }
    }

    /// - Parameter configuration: The new configuration; `nil` if it is invalid.
    func reloaded(_ configuration: ServerConfiguration?) {
        action.withLock { $0 }?(configuration)
    }
}
