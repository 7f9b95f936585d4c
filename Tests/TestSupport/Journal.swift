import NotifyCenter

/// What observers noted down, in order.
package final class Journal: Sendable {
    private let notes = Lock<[String]>([])

    package init() {}

    /// All that was noted and not taken.
    package var entries: [String] { notes.withLock { $0 } }

    package func note(_ text: String) { notes.withLock { $0.append(text) } }

    /// What was noted since it was last taken.
    package func take() -> [String] {
        notes.withLock { notes in
            defer { notes = [] }
            return notes
        }
    }
}
