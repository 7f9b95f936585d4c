import Synchronization

/// What observers noted down, in order.
final class Journal: Sendable {
    private let notes = Mutex<[String]>([])

    func note(_ text: String) { notes.withLock { $0.append(text) } }

    /// What was noted since it was last taken.
    func take() -> [String] {
        notes.withLock { notes in
            defer { notes = [] }
            return notes
        }
    }
}

/// A place to keep something that a closure needs and that is there only after the closure.
final class Later<Value: Sendable>: Sendable {
    private let stored = Mutex<Value?>(nil)

    var value: Value? {
        get { stored.withLock { $0 } }
        set { stored.withLock { $0 = newValue } }
    }
}
