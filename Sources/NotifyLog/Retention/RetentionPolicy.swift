/// The rules by which the log keeps messages: one for each name, and the limits of the log as a whole.
package struct RetentionPolicy: Equatable, Sendable {
    /// The lowest size limit that the log or a rule may have. A segment of the log is closed at this size, and the
    /// rules delete the messages of a name and a user in a segment together, so they could not observe a lower limit.
    package static let minimumBytes: UInt64 = 1 << 20

    /// The rules. The first ones are built in; the configured ones follow.
    package private(set) var rules: [RetentionRule]
    /// The limit in bytes of the database and its write-ahead log, not counting unused pages; nil for none. If a
    /// batch with messages would exceed the limit, history is deleted; the batch fails as `full` if that is not enough.
    /// A batch that contains only changes to subscriptions may exceed the limit.
    package var maximumBytes: UInt64? = 10 << 30
    /// The free bytes that a batch with messages must leave in the file system. If it would leave fewer, history is
    /// deleted; the batch fails as `full` if that is not enough.
    package var minimumFreeBytes: UInt64 = 256 << 20
    /// The limit of the bytes that the subscriptions of one user may hold back. Above this limit, the subscription that
    /// is furthest behind loses its oldest messages.
    package var maximumBacklog: BacklogLimit = .half
    /// The time after which a durable subscription that is not attached is removed; nil for never.
    package var subscriptionExpiry: Duration?

    package init(rules: [RetentionRule] = []) {
        self.rules = RetentionRule.allBuiltIn + rules
    }

    /// The rules that follow the built-in ones.
    package var configuredRules: [RetentionRule] {
        get { Array(rules.dropFirst(RetentionRule.allBuiltIn.count)) }
        set { rules = RetentionRule.allBuiltIn + newValue }
    }

    /// The index in ``rules`` of the last rule that matches the name. The first rule matches every name, reserved ones
    /// included.
    ///
    /// Compares the name with the patterns of every rule: callers should keep the result as long as the policy is in
    /// effect.
    package func rule(for name: UnsafeRawBufferPointer) -> Int {
        rules.dropFirst().lastIndex { $0.matches(name: name) } ?? 0
    }

    /// The most bytes that the subscriptions of one user may hold back; nil for no limit.
    package var backlogBytes: UInt64? {
        switch maximumBacklog {
        case .half: maximumBytes.map { $0 / 2 }
        case .quarter: maximumBytes.map { $0 / 4 }
        case .bytes(let bytes): bytes
        case .unlimited: nil
        }
    }
}

/// A limit of the bytes that the subscriptions of one user may hold back in the log.
package enum BacklogLimit: Equatable, Sendable {
    /// Half of ``RetentionPolicy/maximumBytes``; unlimited if the log is unlimited.
    case half
    /// A quarter of ``RetentionPolicy/maximumBytes``; unlimited if the log is unlimited.
    case quarter
    case bytes(UInt64)
    case unlimited
}
