import NotifyLog
import NotifyWire

/// The known damage of the log.
struct KnownDamage {
    /// The known ranges of damaged messages. Their number is limited.
    private(set) var ranges: [SequenceRange] = []
    /// The number of damaged messages that the last full check has found outside of `ranges`.
    private var unlisted: UInt64 = 0
    /// Ranges that have lost all their messages since the current check began. The check may still report these
    /// messages as damaged.
    private var emptied: [SequenceRange] = []
    /// The problems that the last full check has found.
    private(set) var problems: [LogProblem] = []
    private(set) var problemCount: UInt64 = 0

    /// The number of damaged messages that are known.
    var messages: UInt64 { ranges.sequenceCount + unlisted }

    /// Records damaged messages that a reader has skipped.
    ///
    /// - Returns: Whether a message was added. None is added if it needs a new range and the list of ranges is full.
    mutating func note(_ sequences: [UInt64]) -> Bool {
        let known = ranges.sequenceCount
        for sequence in sequences { ranges.insert(sequence, limit: LogFindings.maximumRanges) }
        return ranges.sequenceCount > known
    }

    /// Forgets damaged messages in a range that contains no messages any more.
    mutating func forget(_ range: SequenceRange, duringCheck: Bool) {
        ranges.subtract(range)
        if duringCheck, emptied.count < LogFindings.maximumRanges { emptied.append(range) }
    }

    /// Forgets all damage, because a new log has replaced the old one.
    mutating func logReplaced() {
        (ranges, unlisted) = ([], 0)
        (problems, problemCount) = ([], 0)
    }

    /// Records the result of a full check.
    mutating func checked(_ findings: LogFindings) {
        ranges = findings.damagedRanges
        unlisted = findings.damagedMessages - min(findings.damagedMessages, ranges.sequenceCount)
        for range in emptied { ranges.subtract(range) }
        emptied = []
        (problems, problemCount) = (findings.problems, findings.problemCount)
    }
}
