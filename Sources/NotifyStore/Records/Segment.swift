import NotifyLog

/// A range of 4,096 sequences: the unit in which reads skip messages that do not match.
enum Segment {
    static let shift: UInt64 = 12

    static func containing(_ sequence: UInt64) -> UInt64 { sequence >> shift }

    static func first(of segment: UInt64) -> UInt64 { segment << shift }

    static func last(of segment: UInt64) -> UInt64 { segment << shift | (1 << shift - 1) }
}

/// The segment to which messages are being added: its number of messages, the ids of their names, and the usage of each
/// user.
struct OpenSegment {
    private(set) var number: UInt64 = 0
    private(set) var messages: UInt64 = 0
    /// In order of first appearance.
    private(set) var names: [UInt32] = []
    private(set) var usage = UsageSum()

    /// For each name id, the generation in which it was last added to `names`. A generation is never used again, so the
    /// marks of a rolled-back batch can't hide a name later.
    private var marks: [UInt64] = []
    private var generation: UInt64 = 1
    private var savepoint: Savepoint?

    /// The state of the segment before a batch.
    private struct Savepoint {
        var number: UInt64
        var messages: UInt64
        var nameCount: Int
        /// The names in the segment when the batch closed it; nil if the batch has not closed it.
        var names: [UInt32]?
        var usage: UsageSum
        /// The usage of all segments that the batch has closed, including messages of earlier batches in them.
        var closedUsage = UsageSum()
    }

    mutating func begin() {
        savepoint = Savepoint(number: number, messages: messages, nameCount: names.count, usage: usage)
    }

    mutating func commit() {
        savepoint = nil
    }

    /// Restores the segment as it was before the batch.
    ///
    /// - Returns: The usage of all segments that the batch has closed, including messages of earlier batches in them.
    @discardableResult
    mutating func rollBack() -> UsageSum {
        guard let savepoint else { return UsageSum() }
        self.savepoint = nil
        let restored = (savepoint.names ?? names).prefix(savepoint.nameCount)
        enter(savepoint.number)
        for name in restored { insert(name) }
        messages = savepoint.messages
        usage = savepoint.usage
        return savepoint.closedUsage
    }

    /// Counts a message of `name`, and adds it to the usage of its user.
    mutating func insert(_ name: UInt32, _ bytes: Int, of uid: UInt32) {
        insert(name)
        usage.add(bytes, of: uid)
    }

    /// Counts a message of `name`.
    mutating func insert(_ name: UInt32) {
        messages += 1
        let index = Int(name)
        if index >= marks.count {
            marks.append(contentsOf: repeatElement(0, count: max(index + 1 - marks.count, marks.count, 64)))
        }
        guard marks[index] != generation else { return }
        marks[index] = generation
        names.append(name)
    }

    /// Begins another, empty segment.
    mutating func enter(_ number: UInt64) {
        if savepoint != nil, savepoint?.names == nil { savepoint?.names = names }
        savepoint?.closedUsage.add(usage)
        self.number = number
        messages = 0
        usage = UsageSum()
        generation += 1
        names = []
        names.reserveCapacity(64)
    }
}
