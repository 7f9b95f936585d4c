import NotifyLog

/// Compares the stored messages with those that a rule should keep, from the newest segment to the oldest.
struct RuleSurvey {
    /// The messages of one name in a segment, which the store deletes together.
    struct Entry {
        /// Nil if the segment is open.
        var closed: ClosedRange<Duration>?
        /// Whether the cursors of all matching subscriptions have passed the segment.
        var isRead: Bool
        var messages = 0
        var bytes = 0
        var stored = 0

        mutating func add(_ message: RetentionModel.Message, isStored: Bool) {
            messages += 1
            bytes += message.bytes
            stored += isStored ? 1 : 0
        }
    }

    struct Totals {
        var bytes = 0
        var messages = 0
        var historyBytes = 0

        mutating func add(_ entry: Entry, times: Int = 1) {
            bytes += times * entry.bytes
            messages += times * entry.messages
            if entry.isRead, entry.closed != nil { historyBytes += times * entry.bytes }
        }
    }

    let rule: RetentionRule
    let now: Duration
    private(set) var kept = Totals()
    /// The entries that were deleted, or deleted in part, although the rule keeps them.
    private(set) var early: [Entry] = []
    /// The entries that are kept although the rule does not keep them.
    private(set) var late: [Entry] = []
    private var all = Totals()

    init(_ rule: RetentionRule, now: Duration) {
        self.rule = rule
        self.now = now
    }

    /// Adds the entries of the next older segment.
    mutating func add(_ entries: [Entry]) {
        let newer = kept
        for entry in entries { all.add(entry) }
        for entry in entries where entry.messages > 0 {
            if entry.stored == entry.messages {
                kept.add(entry)
                if let closed = entry.closed, isBeyondLimits(entry, age: now - closed.upperBound, after: newer) {
                    late.append(entry)
                }
            } else {
                // The store may have examined the other entries of the segment before this one.
                var others = all
                others.add(entry, times: -1)
                guard entry.stored == 0, let closed = entry.closed,
                    isBeyondLimits(entry, age: now - closed.lowerBound, after: others)
                else {
                    early.append(entry)
                    continue
                }
            }
        }
    }

    private func isBeyondLimits(_ entry: Entry, age: Duration, after newer: Totals) -> Bool {
        if let limit = rule.maximumAge, age >= limit { return true }
        if let limit = rule.maximumBytes, newer.bytes >= Int(limit) { return true }
        if let limit = rule.maximumMessages, newer.messages >= Int(limit) { return true }
        guard entry.isRead else { return false }
        if let limit = rule.historyAge, age >= limit { return true }
        if let limit = rule.historyBytes, newer.historyBytes >= Int(limit) { return true }
        return false
    }
}
