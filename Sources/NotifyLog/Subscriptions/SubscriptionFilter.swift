package import NotifyCenter
package import NotifyWire

/// Selects messages by name and object. Rights are checked separately, by the policy.
package struct SubscriptionFilter: Equatable, Sendable {
    package var patterns: [NamePattern]
    /// The object of the selected messages; nil to select messages with any object or none.
    package var object: String?

    package init(patterns: [NamePattern], object: String? = nil) {
        self.patterns = patterns
        self.object = object
    }

    /// The approximate heap memory of the filter's contents, in bytes.
    package var byteCount: Int {
        patterns.reduce(object?.utf8.count ?? 0) { $0 + MemoryLayout<NamePattern>.stride + 32 + $1.string.utf8.count }
    }

    /// Whether the patterns match the name. The object is not compared.
    package func matches(name: UnsafeRawBufferPointer) -> Bool {
        patterns.contains { $0.matches(utf8: name) && ReservedNames.isVisible(name, to: $0) }
    }

    /// Whether the filter selects a message.
    package func matches(_ message: MessageParts) -> Bool {
        matches(name: message.name) && (object.map { message.object.elementsEqual($0.utf8) } ?? true)
    }
}
