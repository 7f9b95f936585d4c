import NotifyCenter

/// A value that a closure captures before it is set.
package final class LateValue<Value: Sendable>: Sendable {
    private let stored = Lock<Value?>(nil)

    package init() {}

    package var value: Value? {
        get { stored.withLock { $0 } }
        set { stored.withLock { $0 = newValue } }
    }
}
