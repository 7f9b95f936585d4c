import NotifyLog
import NotifyWire

/// Deleting copies of messages that are purged or older than their retention rule permits. The subscriptions lose these
/// messages.
extension Log {
    /// The most copies that one step examines.
    private static let copiesPerStep: Int64 = 256

    /// Performs a step of a purge: examines the next copies, and deletes those that the purge includes.
    ///
    /// - Returns: Whether copies are left to be examined.
    func purgeCopies(_ survey: inout PurgeSurvey) throws -> Bool {
        let rows = try openStatements().redeliveries.above
        try rows.bind(1, survey.copyPosition)
        try rows.bind(2, Self.copiesPerStep)
        let copies = try readCopies(rows)
        guard let last = copies.last else { return false }
        survey.copyPosition = last.id
        try delete(copies.compactMap(\.row).filter(survey.contains), isPurge: true)
        return true
    }

    /// Examines the next copies, and deletes those that have reached the maximum age of their rule.
    ///
    /// - Returns: Whether copies are left to be examined.
    func expireCopies(_ survey: inout RetentionSurvey) throws -> Bool {
        guard let lowestAge = options.retention.lowestMaximumAge else { return false }
        let rows = try openStatements().redeliveries.aged
        try rows.bind(1, survey.copyPosition.kept.microseconds)
        try rows.bind(2, survey.copyPosition.id)
        try rows.bind(3, (survey.now - lowestAge).microseconds)
        try rows.bind(4, Self.copiesPerStep)
        let copies = try readCopies(rows)
        guard let last = copies.last else { return false }
        survey.copyPosition = (last.kept, last.id)
        let expired = copies.compactMap(\.row).filter { row in
            var name = row.name
            let rule = name.withUTF8 { options.retention.rule(for: UnsafeRawBufferPointer($0)) }
            guard let age = options.retention.rules[rule].maximumAge else { return false }
            survey.note(deadline: row.kept + age)
            return survey.now - row.kept >= age
        }
        try delete(expired, isPurge: false)
        return true
    }

    /// The time at which the first of the remaining copies reaches the lowest maximum age of a rule; nil if there is no
    /// such copy or rule.
    func nextCopyExpiry(_ survey: RetentionSurvey) throws -> Duration? {
        guard let lowestAge = options.retention.lowestMaximumAge else { return nil }
        let rows = try openStatements().redeliveries.aged
        defer { rows.reset() }
        try rows.bind(1, (survey.now - lowestAge).microseconds)
        try rows.bind(2, Int64.max)
        try rows.bind(3, Int64.max)
        try rows.bind(4, Int64(1))
        guard try rows.step() else { return nil }
        return .microseconds(Int64(bitPattern: rows.integer(10))) + lowestAge
    }

    /// Reads rows without the frames. The row of a damaged copy is nil.
    private func readCopies(
        _ rows: PreparedStatement
    ) throws -> [(id: UInt64, kept: Duration, row: RedeliveryRow?)] {
        defer { rows.reset() }
        var copies: [(id: UInt64, kept: Duration, row: RedeliveryRow?)] = []
        while try rows.step() {
            copies.append((rows.integer(0), .microseconds(Int64(bitPattern: rows.integer(10))), RedeliveryRow(rows)))
        }
        return copies
    }

    private func delete(_ copies: [RedeliveryRow], isPurge: Bool) throws {
        guard !copies.isEmpty else { return }
        var result = Deletion()
        result.isPurge = isPurge
        try inTransaction(.normal) { statements in
            for (id, rows) in Dictionary(grouping: copies, by: \.subscription) {
                let sequences = rows.map(\.sequence).sorted()
                try forget(sequences, of: id, statements)
                guard let generation = subscriptions.generation(of: id) else { continue }
                result.began(generation, of: id)
                result.copies[id] = sequences
                // The loss is an upper bound, because a client has received the messages before.
                let loss = Loss(
                    first: sequences[0], last: sequences[sequences.count - 1], count: UInt64(sequences.count),
                    isUpperBound: true)
                result.add(loss, of: id)
            }
            try write(result.losses, statements)
        }
        report.deletion.add(result)
    }
}

extension RetentionPolicy {
    /// The lowest age at which a rule drops a message; nil if none does.
    fileprivate var lowestMaximumAge: Duration? { rules.lazy.compactMap(\.maximumAge).min() }
}
