import DequeModule
import NotifyLog
import NotifyWire

/// The present value of each name and object, without its content: the log has the content.
///
/// A change counts as soon as it is in the next batch, so that of two posts in one batch that expect the same sequence,
/// one is refused. Changes are kept apart until their batch is committed, because a batch that fails takes its changes
/// back, and those in the next batch that depend on them.
struct Values {
    /// A change that is not committed yet.
    private struct Change {
        /// The slot of the record; nil if a later change in the same batch replaces this one.
        var slot: Int32?
        let entry: ValueEntry
    }

    /// The mark of a cleared value in the log. The slot may have another record by now: sequences are unique.
    private struct Mark {
        let slot: Int32
        let sequence: UInt64
        let timeMicroseconds: UInt64
    }

    /// The marks are kept for a day, and at most so many of them: a client that was away for longer reads all values.
    private static let maximumMarks = 100_000
    private static let markMicroseconds: UInt64 = 24 * 3_600 * 1_000_000
    /// The maximum number of marks that a batch deletes in addition to the number of its changes, because the batch must
    /// not take long.
    private static let forgottenPerBatch = 1_000

    private var table = ValueTable()
    /// The changes in the batch in flight and in the next one, in ascending order of sequence.
    private var inFlight: [Change] = []
    private var pending: [Change] = []
    /// Whether the next batch is valid only if the batch in flight is committed.
    private(set) var isNextDependent = false
    /// The marks in the log, the oldest first. Some may have been replaced by later changes.
    private var marks: Deque<Mark> = []
    /// The marks that the batch in flight deletes or replaces.
    private var forgetting: [Mark] = []
    private(set) var lastNumber: UInt64
    /// The highest sequence of a committed change.
    private(set) var lastChange: UInt64 = 0
    /// The bytes of all values.
    private(set) var totalBytes = 0
    /// Which values were cleared up to this sequence is unknown.
    private(set) var forgottenThrough: UInt64
    /// The sequences after the last one in the log that were not used when the daemon started: no client has read
    /// changes up to them, unless power was lost.
    private let unknown: Range<UInt64>

    init(_ recovered: RecoveredLog) {
        lastNumber = recovered.values.lastNumber
        forgottenThrough = recovered.values.forgottenThrough
        lastChange = recovered.values.values.lazy.map(\.sequence).max() ?? 0
        let first = max(recovered.persistedThrough, lastChange) + 1
        unknown = first..<max(first, recovered.nextSequence)
        var marks: [Mark] = []
        // A damaged log may contain a name and object twice: the first one counts.
        for value in recovered.values.values where table.find(value.key) == nil {
            let slot = table.insert(value.key, nameKey: value.nameKey, number: value.number)
            let entry = ValueEntry(
                sequence: value.sequence, uid: value.uid, bytes: value.isCleared ? 0 : value.bytes)
            table[slot].committed = entry
            totalBytes += entry.bytes
            if entry.isCleared {
                marks.append(Mark(slot: slot, sequence: value.sequence, timeMicroseconds: value.timeMicroseconds))
            }
        }
        self.marks = Deque(marks.sorted { $0.sequence < $1.sequence })
    }

    /// The committed values and marks, as additions to the usage of their users.
    var usage: some Sequence<ValueReplacement> {
        table.all.lazy.map { ValueReplacement(old: nil, new: $0.committed) }
    }

    // MARK: Reading

    /// The slot of the record of a key, for the other methods; nil if there is no value and no mark. Valid until the
    /// outcome of a batch.
    @inline(__always)
    func find(_ key: ValueKey) -> Int32? { table.find(key) }

    /// The present value or mark; nil if there is none. The batch with it may not be committed yet.
    @inline(__always)
    func current(_ slot: Int32?) -> ValueEntry? {
        guard let slot else { return nil }
        if let position = table[slot].pending { return pending[Int(position)].entry }
        if let position = table[slot].inFlight { return inFlight[Int(position)].entry }
        return table[slot].committed
    }

    /// The present value or mark of a key; nil if there is none. The batch with it may not be committed yet.
    func current(_ key: ValueKey) -> ValueEntry? { current(find(key)) }

    /// The sequence of the committed value or mark of a key; 0 if there is none.
    func committedSequence(_ key: ValueKey) -> UInt64 { find(key).flatMap { table[$0].committed?.sequence } ?? 0 }

    /// Whether the present value of a key depends on a batch that is not committed yet.
    func isUncertain(_ key: ValueKey) -> Bool {
        guard let slot = find(key) else { return false }
        return table[slot].pending != nil || table[slot].inFlight != nil
    }

    /// Whether any change waits for its commit.
    var areUncertain: Bool { !pending.isEmpty || !inFlight.isEmpty }

    /// The number of values and marks of names, with any object.
    func count(of names: some Sequence<ValueKey>) -> Int {
        names.reduce(0) { $0 + 1 + table.slots(ofObjectsOf: $1).count }
    }

    /// The numbers of the committed values of names, in ascending order.
    ///
    /// - Parameters:
    ///   - names: The keys of the names alone, or of the names with the object.
    ///   - isAnyObject: Whether values with any object count, or only those whose key is in `names`.
    func numbers(of names: some Sequence<ValueKey>, isAnyObject: Bool) -> [UInt64] {
        var numbers: [UInt64] = []
        func add(_ slot: Int32) {
            if let entry = table[slot].committed, !entry.isCleared { numbers.append(table[slot].number) }
        }
        for name in names {
            if let slot = find(name) { add(slot) }
            if isAnyObject { table.slots(ofObjectsOf: name).forEach(add) }
        }
        return numbers.sorted()
    }

    /// Whether the changes after a sequence are known, so that a client can continue there.
    func areChangesKnown(after sequence: UInt64) -> Bool {
        sequence >= forgottenThrough && !unknown.contains(sequence)
    }

    // MARK: Changing

    /// Changes a value in the next batch.
    ///
    /// - Parameters:
    ///   - slot: The slot of the record of the name's key; nil if there is none.
    ///   - entry: The new value or mark, with a higher sequence than all others.
    ///   - isConditional: Whether the change is valid only for the value that is present now.
    @inline(__always)
    mutating func change(
        _ name: ValueName, _ slot: Int32?, to entry: ValueEntry, isConditional: Bool
    ) -> ValueReplacement {
        assert(slot == find(name.key) && pending.last.map { $0.entry.sequence < entry.sequence } ?? true)
        let replacement = ValueReplacement(old: current(slot), new: entry)
        let slot = slot ?? table.insert(name.key, nameKey: name.nameKey, number: nextNumber())
        if isConditional && table[slot].inFlight != nil { isNextDependent = true }
        if let replaced = table[slot].pending { pending[Int(replaced)].slot = nil }
        table[slot].pending = Int32(pending.count)
        pending.append(Change(slot: slot, entry: entry))
        totalBytes += replacement.addedBytes
        return replacement
    }

    /// Records that something in the next batch is valid only for the present value of a key: a change with a condition,
    /// or an answer.
    mutating func noteDependence(on key: ValueKey) {
        if let slot = find(key), table[slot].inFlight != nil { isNextDependent = true }
    }

    private mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// Removes a record that has no value and no mark any more.
    private mutating func removeIfUnused(_ slot: Int32) {
        if current(slot) == nil { table.remove(slot) }
    }

    // MARK: Batches

    /// Moves the pending changes to the batch that begins.
    ///
    /// - Parameter now: The time, in microseconds since 1970.
    /// - Returns: The changes of the batch, in ascending order of sequence, and the marks that it deletes.
    mutating func beginBatch(now: UInt64) -> (changes: [ValueChange], forgotten: ForgottenValues) {
        isNextDependent = false
        guard !pending.isEmpty || !marks.isEmpty else { return ([], ForgottenValues()) }
        let changes = movePending()
        return (changes, takeForgotten(now: now, maximum: Self.forgottenPerBatch + changes.count))
    }

    /// Moves the pending changes to the batch in flight, which is empty.
    private mutating func movePending() -> [ValueChange] {
        inFlight = exchange(&pending, with: [])
        var changes: [ValueChange] = []
        changes.reserveCapacity(inFlight.count)
        for change in inFlight {
            guard let slot = change.slot else { continue }
            table[slot].inFlight = exchange(&table[slot].pending, with: nil)
            changes.append(
                ValueChange(
                    sequence: change.entry.sequence, number: table[slot].number, isCleared: change.entry.isCleared))
        }
        return changes
    }

    private mutating func takeForgotten(now: UInt64, maximum: Int) -> ForgottenValues {
        var forgotten = ForgottenValues()
        while forgotten.numbers.count < maximum, let mark = marks.first {
            // The time of a mark in the log may be any number.
            let isOld = mark.timeMicroseconds < now && now - mark.timeMicroseconds > Self.markMicroseconds
            guard marks.count > Self.maximumMarks || isOld else { break }
            marks.removeFirst()
            // A mark that a later change replaces needs no deletion.
            guard isCommitted(mark) else { continue }
            forgetting.append(mark)
            guard table[mark.slot].inFlight == nil else { continue }
            forgotten.numbers.append(table[mark.slot].number)
            forgotten.through = max(forgotten.through, mark.sequence)
        }
        forgottenThrough = max(forgottenThrough, forgotten.through)
        return forgotten
    }

    /// Whether a mark is in the log, and not replaced by a committed change.
    private func isCommitted(_ mark: Mark) -> Bool {
        table.record(at: mark.slot)?.committed?.sequence == mark.sequence
    }

    /// Records that the batch in flight is committed.
    ///
    /// - Parameter now: The time, in microseconds since 1970.
    mutating func persisted(now: UInt64) {
        guard !inFlight.isEmpty || !forgetting.isEmpty else { return }
        for mark in forgetting where isCommitted(mark) && table[mark.slot].inFlight == nil {
            table[mark.slot].committed = nil
            // The number of a deleted mark is not used again.
            if table[mark.slot].pending != nil { table[mark.slot].number = nextNumber() }
            removeIfUnused(mark.slot)
        }
        forgetting = []
        for change in exchange(&inFlight, with: []) {
            guard let slot = change.slot else { continue }
            table[slot].inFlight = nil
            table[slot].committed = change.entry
            lastChange = max(lastChange, change.entry.sequence)
            if change.entry.isCleared {
                marks.append(Mark(slot: slot, sequence: change.entry.sequence, timeMicroseconds: now))
            }
        }
    }

    /// Takes back the changes of the batch in flight, which has failed. If the next batch depends on them, the caller
    /// must let it fail, too.
    ///
    /// - Returns: The changes of the present values.
    mutating func failed() -> [ValueReplacement] {
        for mark in forgetting.reversed() { marks.prepend(mark) }
        forgetting = []
        var replacements: [ValueReplacement] = []
        for change in exchange(&inFlight, with: []) {
            guard let slot = change.slot else { continue }
            table[slot].inFlight = nil
            guard table[slot].pending == nil else { continue }
            let replacement = ValueReplacement(old: change.entry, new: table[slot].committed)
            totalBytes += replacement.addedBytes
            replacements.append(replacement)
            removeIfUnused(slot)
        }
        return replacements
    }

    /// Takes back the changes of the next batch.
    ///
    /// - Returns: The changes of the present values.
    mutating func nextFailed() -> [ValueReplacement] {
        isNextDependent = false
        _ = movePending()
        return failed()
    }

    /// Forgets which values were changed up to a sequence, because a new log has replaced the old one, and may lack some.
    mutating func logReplaced(through last: UInt64) { forgottenThrough = max(forgottenThrough, last) }
}
