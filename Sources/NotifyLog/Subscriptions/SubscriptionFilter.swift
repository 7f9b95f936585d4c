package import NotifyCenter
import NotifyWire

/// Selects messages by name and object. Whether they may be received is decided by the policy, not here.
package struct SubscriptionFilter: Equatable, Sendable {
    package var patterns: [NamePattern]
    /// Where set, only messages with an equal object.
    package var object: String?

    package init(patterns: [NamePattern], object: String? = nil) {
        self.patterns = patterns
        self.object = object
    }

    /// About the memory that it takes beside its own size.
    package var byteCount: Int {
        patterns.reduce(object?.utf8.count ?? 0) { $0 + MemoryLayout<NamePattern>.stride + 32 + $1.string.utf8.count }
    }

    /// Whether messages of this name are selected. Objects are not looked at.
    package func matches(name: UnsafeRawBufferPointer) -> Bool {
        patterns.contains { $0.matches(utf8: name) && ReservedNames.isVisible(name, to: $0) }
    }
}
