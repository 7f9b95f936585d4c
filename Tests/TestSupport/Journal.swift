@_spi(Package) import NotifyCenter

/// A thread-safe log of strings, in order.
package final class Journal: Sendable {
    private let notes = Lock<[String]>([])

    package init() {}

    /// The entries since the last `take()`.
    package var entries: [String] { notes.withLock { $0 } }

    package func note(_ text: String) { notes.withLock { $0.append(text) } }

    /// Returns and removes the entries.
    package func take() -> [String] {
        notes.withLock { notes in
            defer { notes = [] }
            return notes
        }
    }
}
