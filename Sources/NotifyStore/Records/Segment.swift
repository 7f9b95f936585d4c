/// A range of 4,096 sequences: the unit in which reads skip messages that do not match.
enum Segment {
    static let shift: UInt64 = 12

    static func containing(_ sequence: UInt64) -> UInt64 { sequence >> shift }

    static func first(of segment: UInt64) -> UInt64 { segment << shift }

    static func last(of segment: UInt64) -> UInt64 { segment << shift | (1 << shift - 1) }
}

/// The segment to which messages are being added: its number of messages, and the ids of their names.
struct OpenSegment {
    private(set) var number: UInt64 = 0
    private(set) var messages: UInt64 = 0
    /// In order of first appearance.
    private(set) var names: [UInt32] = []

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
    }

    mutating func begin() {
        savepoint = Savepoint(number: number, messages: messages, nameCount: names.count)
    }

    mutating func commit() {
        savepoint = nil
    }

    mutating func rollBack() {
        guard let savepoint else { return }
        self.savepoint = nil
        let restored = (savepoint.names ?? names).prefix(savepoint.nameCount)
        enter(savepoint.number)
        for name in restored { insert(name) }
        messages = savepoint.messages
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
        self.number = number
        messages = 0
        generation += 1
        names = []
        names.reserveCapacity(64)
    }
}
