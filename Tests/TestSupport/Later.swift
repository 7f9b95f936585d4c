import NotifyCenter

/// A place to keep something that a closure needs and that is there only after the closure.
package final class Later<Value: Sendable>: Sendable {
    private let stored = Lock<Value?>(nil)

    package init() {}

    package var value: Value? {
        get { stored.withLock { $0 } }
        set { stored.withLock { $0 = newValue } }
    }
}
