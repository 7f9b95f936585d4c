@_spi(Package) import NotifyCenter

/// A value that is set after closures have captured it.
package final class LateValue<Value: Sendable>: Sendable {
    private let stored = Lock<Value?>(nil)

    package init() {}

    package var value: Value? {
        get { stored.withLock { $0 } }
        set { stored.withLock { $0 = newValue } }
    }
}
