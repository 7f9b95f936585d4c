package import NotifyWire

/// The findings of a check of the log: the numbers of sound rows, and the damage.
package struct LogFindings: Equatable, Sendable {
    /// The maximum numbers of problems, and of ranges of damaged messages, that are listed.
    package static let maximumProblems = CheckReport.maximumProblems
    package static let maximumRanges = CheckReport.maximumRanges

    /// The numbers of sound rows.
    package var messages: UInt64 = 0
    package var names: UInt64 = 0
    package var segments: UInt64 = 0
    package var subscriptions: UInt64 = 0
    package var values: UInt64 = 0
    package var damagedMessages: UInt64 = 0
    /// The listed ranges of damaged messages, ascending.
    package var damagedRanges: [SequenceRange] = []
    /// The first of the other problems.
    package var problems: [LogProblem] = []
    package var problemCount: UInt64 = 0

    package init() {}

    package var isSound: Bool { damagedMessages == 0 && problemCount == 0 }

    /// Adds a problem, unless it is listed already: several reads may meet the same damage.
    package mutating func add(_ part: LogPart, _ text: String) {
        let problem = LogProblem(part, text)
        guard !problems.contains(problem) else { return }
        problemCount += 1
        if problems.count < Self.maximumProblems { problems.append(problem) }
    }

    package mutating func addDamagedMessage(_ sequence: UInt64) {
        damagedMessages += 1
        damagedRanges.insert(sequence, limit: Self.maximumRanges)
    }
}

extension [SequenceRange] {
    /// The number of sequences in disjoint ranges.
    package var sequenceCount: UInt64 { reduce(0) { $0 + ($1.last - $1.first + 1) } }

    /// Removes the sequences of a range from disjoint ranges.
    package mutating func subtract(_ range: SequenceRange) {
        guard contains(where: { $0.first <= range.last && $0.last >= range.first }) else { return }
        self = flatMap { part -> [SequenceRange] in
            guard part.first <= range.last, part.last >= range.first else { return [part] }
            let before = SequenceRange(first: part.first, last: range.first &- 1)
            let after = SequenceRange(first: range.last &+ 1, last: part.last)
            return (part.first < range.first ? [before] : []) + (part.last > range.last ? [after] : [])
        }
    }

    /// Adds a sequence to ascending, disjoint ranges, unless that needs more than `limit` of them.
    ///
    /// - Returns: Whether the sequence was in none of the ranges.
    @discardableResult
    package mutating func insert(_ sequence: UInt64, limit: Int) -> Bool {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].last < sequence { low = middle + 1 } else { high = middle }
        }
        // The range at `low` is the first that ends at or above the sequence.
        if low < count, self[low].first <= sequence { return false }
        let joinsNext = low < count && self[low].first == sequence + 1
        if low > 0, self[low - 1].last == sequence - 1 {
            self[low - 1].last = joinsNext ? self[low].last : sequence
            if joinsNext { remove(at: low) }
        } else if joinsNext {
            self[low].first = sequence
        } else if count < limit {
            insert(SequenceRange(first: sequence, last: sequence), at: low)
        }
        return true
    }
}
