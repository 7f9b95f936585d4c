package import NotifyCenter
import NotifyWire

/// The limits of the messages that are kept under some names. In every limit, nil means unlimited.
///
/// The limits of history apply to read messages: acknowledged by every durable subscription that matches, or matched by
/// none. The maximums apply to all messages. Unread messages that exceed them are dropped, and a gap reports them.
package struct RetentionRule: Equatable, Sendable {
    package var patterns: [NamePattern]
    /// Whether the limits of bytes and messages apply to each name by itself, instead of to all names together.
    package var isPerName = false
    /// The age after which a read message is removed.
    package var historyAge: Duration?
    /// The bytes of read messages that are kept, of all names under the rule together unless ``isPerName``.
    package var historyBytes: UInt64?
    /// The age after which a message is removed, whether read or not.
    package var maximumAge: Duration?
    /// The bytes of messages that are kept, of all names under the rule together unless ``isPerName``.
    package var maximumBytes: UInt64?
    /// The number of messages that are kept, of all names under the rule together unless ``isPerName``.
    package var maximumMessages: UInt64?

    /// Creates a rule with the history of ``builtIn``, and without maximums.
    package init(patterns: [NamePattern]) {
        self.patterns = patterns
        historyAge = .seconds(86_400)
        historyBytes = 1 << 30
    }

    /// The rule for names that no other rule matches: a history of 24 hours and 1 GiB, and no maximums.
    package static let builtIn = RetentionRule(patterns: [.everyName])

    /// The rule for dead letters: for each user 30 days and 1 GiB, read or not. All dead letters of a user have one
    /// name, so the dead letters of one user do not displace those of another.
    package static let deadLetters = {
        var rule = RetentionRule(patterns: ["notifyd.dead.*"])
        (rule.historyAge, rule.maximumAge) = (.seconds(30 * 86_400), .seconds(30 * 86_400))
        rule.maximumBytes = 1 << 30
        rule.isPerName = true
        return rule
    }()

    static let allBuiltIn = [builtIn, deadLetters]

    /// Whether one of the patterns matches the name. A pattern whose first token is a wildcard does not match a
    /// reserved name.
    package func matches(name: UnsafeRawBufferPointer) -> Bool {
        patterns.contains { $0.matches(utf8: name) && ReservedNames.isVisible(name, to: $0) }
    }
}
