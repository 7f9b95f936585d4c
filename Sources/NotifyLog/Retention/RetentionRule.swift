package import NotifyCenter
import NotifyWire

/// How much is kept of the messages under some names. In every limit, nil means unlimited.
///
/// The limits of history apply to read messages: acknowledged by every durable subscription that matches, or matched by
/// none. The maximums apply to all messages, and drop unread ones with a gap.
package struct RetentionRule: Equatable, Sendable {
    package var patterns: [NamePattern]
    /// The age after which a read message is removed.
    package var historyAge: Duration?
    /// The bytes of read messages that are kept, of all names under the rule together.
    package var historyBytes: UInt64?
    /// The age after which a message is removed, whether read or not.
    package var maximumAge: Duration?
    /// The bytes of messages that are kept, of all names under the rule together.
    package var maximumBytes: UInt64?
    /// The number of messages that are kept, of all names under the rule together.
    package var maximumMessages: UInt64?

    /// Creates a rule with the history of ``builtIn``, and without maximums.
    package init(patterns: [NamePattern]) {
        self.patterns = patterns
        historyAge = .seconds(86_400)
        historyBytes = 1 << 30
    }

    /// The rule for names that no other rule matches: a history of 24 hours and 1 GiB, and no maximums.
    package static let builtIn = RetentionRule(patterns: [.everyName])

    /// Whether one of the patterns matches the name. A pattern whose first token is a wildcard does not match a
    /// reserved name.
    package func matches(name: UnsafeRawBufferPointer) -> Bool {
        patterns.contains { $0.matches(utf8: name) && ReservedNames.isVisible(name, to: $0) }
    }
}
