import NotifyCenter
import NotifyLog
import NotifyStore
import NotifyUnits
import NotifyYAML

/// The settings of ``RetentionPolicy`` that need their own parsers or records: `log.min_free_bytes`, `log.max_backlog`,
/// `log.retention` and `log.expire_subscriptions`.
enum RetentionSettings {
    /// The range of the size limits of the log and of rules.
    static let sizes = RetentionPolicy.minimumBytes...highestSize
    private static let highestSize: UInt64 = 16 << 40
    private static let longest = Duration.seconds(36_500 * 86_400)

    static let minimumFreeBytes = QuantitySetting(
        \.store.retention.minimumFreeBytes, expectation: Quantity.expectation(ofBytes: 0...highestSize)
    ) { text in
        Quantity.bytes(text).flatMap { $0 <= highestSize ? $0 : nil }
    }

    static let maximumBacklog = QuantitySetting(
        \.store.retention.maximumBacklog,
        expectation: "half or quarter (of log.max_bytes), \(Quantity.expectation(ofBytes: sizes)), or unlimited"
    ) { text in
        switch text {
        case "half": .half
        case "quarter": .quarter
        case "unlimited": .unlimited
        default: Quantity.bytes(text).flatMap { sizes.contains($0) ? .bytes($0) : nil }
        }
    }

    static let subscriptionExpiry = QuantitySetting(
        \.store.retention.subscriptionExpiry, expectation: "\(Quantity.expectation(of: expiries)), or never"
    ) { text -> Duration?? in
        if text == "never" { return .some(nil) }
        guard let expiry = Quantity.duration(text), expiries.contains(expiry) else { return nil }
        return expiry
    }

    private static let expiries = Duration.seconds(60)...longest

    /// Describes how the limits of a valid policy contradict each other.
    ///
    /// - Returns: `nil` if the limits do not contradict each other.
    static func contradiction(_ policy: RetentionPolicy) -> String? {
        guard case .bytes(let backlog) = policy.maximumBacklog, let limit = policy.maximumBytes, backlog > limit else {
            return nil
        }
        return "log.max_backlog is \(Quantity.describe(bytes: backlog)): expected at most log.max_bytes, which is "
            + Quantity.describe(bytes: limit)
    }

    // MARK: Records

    private static let names = RecordKey.list(
        "names", of: .text("a name or a pattern such as orders.>") { try? NamePattern($0) }, isRequired: true)
    private static let historyAge = RecordKey.one("history_age", .orUnlimited(.duration(.zero...longest)))
    private static let historyBytes = RecordKey.one("history_bytes", .orUnlimited(.size(0...highestSize)))
    private static let maximumAge = RecordKey.one("max_age", .orUnlimited(.duration(.seconds(1)...longest)))
    private static let maximumBytes = RecordKey.one("max_bytes", .orUnlimited(.size(sizes)))
    private static let maximumMessages = RecordKey.one(
        "max_messages", .orUnlimited(.integer(1...1_000_000_000_000)))

    static let rules = RecordList(
        \.store.retention.configuredRules,
        [names, historyAge, historyBytes, maximumAge, maximumBytes, maximumMessages]
    ) { record in
        var rule = RetentionRule(patterns: record[names] ?? [])
        if let age = record[historyAge] { rule.historyAge = age.value }
        if let bytes = record[historyBytes] { rule.historyBytes = bytes.value }
        rule.maximumAge = record[maximumAge]?.value
        rule.maximumBytes = record[maximumBytes]?.value
        rule.maximumMessages = (record[maximumMessages]?.value).map(UInt64.init)
        return rule
    }
}

/// The limit of a rule, as written in a record.
private enum RecordLimit<Value: Sendable>: Sendable {
    case unlimited
    case limit(Value)

    /// The limit; `nil` if there is none.
    var value: Value? {
        switch self {
        case .unlimited: nil
        case .limit(let value): value
        }
    }
}

extension RecordScalar {
    /// A value or `unlimited`.
    fileprivate static func orUnlimited<Limit>(
        _ scalar: RecordScalar<Limit>
    ) -> RecordScalar where Value == RecordLimit<Limit> {
        RecordScalar(expectation: "\(scalar.expectation), or unlimited") { node in
            node.string == "unlimited" ? .unlimited : (try? scalar.value(of: node)).map { .limit($0) }
        }
    }
}
