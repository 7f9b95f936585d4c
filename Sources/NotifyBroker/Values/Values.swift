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
        let name: ValueName
        let entry: ValueEntry
    }

    /// The mark of a cleared value in the log.
    private struct Mark {
        let name: ValueName
        let entry: ValueEntry
        let timeMicroseconds: UInt64
    }

    /// The marks are kept for a day, and at most so many of them: a client that was away for longer reads all values.
    private static let maximumMarks = 100_000
    private static let markMicroseconds: UInt64 = 24 * 3_600 * 1_000_000
    /// The maximum number of marks that a batch deletes in addition to the number of its changes, because the batch must
    /// not take long.
    private static let forgottenPerBatch = 1_000

    private var committed: [ValueKey: ValueEntry] = [:]
    private var inFlight: [ValueKey: Change] = [:]
    private var pending: [ValueKey: Change] = [:]
    /// Whether the next batch is valid only if the batch in flight is committed.
    private(set) var isNextDependent = false
    /// The keys of names with objects, by the key of the name alone.
    private var objects: [ValueKey: Set<ValueKey>] = [:]
    /// The marks in the log, the oldest first. Some may have been replaced by later changes.
    private var marks: Deque<Mark> = []
    /// The marks that the batch in flight deletes.
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
        committed.reserveCapacity(recovered.values.values.count)
        var marks: [Mark] = []
        for value in recovered.values.values {
            let bytes = value.isCleared ? 0 : value.bytes
            let name = ValueName(key: value.key, nameKey: value.nameKey)
            let entry = ValueEntry(number: value.number, sequence: value.sequence, uid: value.uid, bytes: bytes)
            committed[value.key] = entry
            totalBytes += bytes
            add(name)
            if value.isCleared {
                marks.append(Mark(name: name, entry: entry, timeMicroseconds: value.timeMicroseconds))
            }
        }
        self.marks = Deque(marks.sorted { $0.entry.sequence < $1.entry.sequence })
    }

    /// The usage of each user when the daemon starts.
    var usage: some Sequence<ValueUsage> { committed.values.lazy.map(\.usage) }

    // MARK: Reading

    /// The present value or mark; nil if there is none. The batch with it may not be committed yet.
    func current(_ key: ValueKey) -> ValueEntry? { pending[key]?.entry ?? inFlight[key]?.entry ?? committed[key] }

    /// The sequence of the committed value or mark of a key; 0 if there is none.
    func committedSequence(_ key: ValueKey) -> UInt64 { committed[key]?.sequence ?? 0 }

    /// Whether the present value of a key depends on a batch that is not committed yet.
    func isUncertain(_ key: ValueKey) -> Bool { pending[key] != nil || inFlight[key] != nil }

    /// Whether any change waits for its commit.
    var areUncertain: Bool { !pending.isEmpty || !inFlight.isEmpty }

    /// The number of values and marks of names, with any object.
    func count(of names: some Sequence<ValueKey>) -> Int { names.reduce(0) { $0 + 1 + (objects[$1]?.count ?? 0) } }

    /// The numbers of the committed values of names, in ascending order.
    ///
    /// - Parameters:
    ///   - names: The keys of the names alone, or of the names with the object.
    ///   - isAnyObject: Whether values with any object count, or only those whose key is in `names`.
    func numbers(of names: some Sequence<ValueKey>, isAnyObject: Bool) -> [UInt64] {
        var numbers: [UInt64] = []
        for name in names {
            if let entry = committed[name], !entry.isCleared { numbers.append(entry.number) }
            guard isAnyObject else { continue }
            for key in objects[name] ?? [] {
                if let entry = committed[key], !entry.isCleared { numbers.append(entry.number) }
            }
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
    ///   - bytes: The size that is charged to the user; 0 to clear the value.
    ///   - isConditional: Whether the change is valid only for the value that is present now.
    /// - Returns: The changes of the users' usage.
    mutating func change(
        _ name: ValueName, sequence: UInt64, uid: UInt32, bytes: Int, isConditional: Bool
    ) -> [ValueUsage] {
        let old = current(name.key)
        let entry = ValueEntry(number: old?.number ?? nextNumber(), sequence: sequence, uid: uid, bytes: bytes)
        if old == nil { add(name) }
        if isConditional { noteDependence(on: name.key) }
        pending[name.key] = Change(name: name, entry: entry)
        return note([old.map { -$0.usage }, entry.usage])
    }

    /// Records that something in the next batch is valid only for the present value of a key: a change with a condition,
    /// or an answer.
    mutating func noteDependence(on key: ValueKey) {
        if inFlight[key] != nil { isNextDependent = true }
    }

    private mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    private mutating func note(_ changes: [ValueUsage?]) -> [ValueUsage] {
        let changes = changes.compactMap(\.self).filter { $0.bytes != 0 }
        for change in changes { totalBytes += change.bytes }
        return changes
    }

    private mutating func add(_ name: ValueName) {
        if let nameKey = name.nameKey { objects[nameKey, default: []].insert(name.key) }
    }

    /// Removes a name that has no value and no mark any more.
    private mutating func removeIfUnused(_ name: ValueName) {
        guard let nameKey = name.nameKey, current(name.key) == nil else { return }
        objects[nameKey]?.remove(name.key)
        if objects[nameKey]?.isEmpty == true { objects[nameKey] = nil }
    }

    // MARK: Batches

    /// Moves the pending changes to the batch that begins.
    ///
    /// - Parameter now: The time, in microseconds since 1970.
    /// - Returns: The changes of the batch, in ascending order of sequence, and the marks that it deletes.
    mutating func beginBatch(now: UInt64) -> (changes: [ValueChange], forgotten: ForgottenValues) {
        isNextDependent = false
        guard !pending.isEmpty || !marks.isEmpty else { return ([], ForgottenValues()) }
        inFlight = exchange(&pending, with: [:])
        let changes = inFlight.values.map {
            ValueChange(sequence: $0.entry.sequence, number: $0.entry.number, isCleared: $0.entry.isCleared)
        }
        return (changes.sorted { $0.sequence < $1.sequence }, takeForgotten(now: now))
    }

    private mutating func takeForgotten(now: UInt64) -> ForgottenValues {
        var forgotten = ForgottenValues()
        while forgotten.numbers.count < Self.forgottenPerBatch + inFlight.count, let mark = marks.first {
            // The time of a mark in the log may be any number.
            let isOld = mark.timeMicroseconds < now && now - mark.timeMicroseconds > Self.markMicroseconds
            guard marks.count > Self.maximumMarks || isOld else { break }
            marks.removeFirst()
            let key = mark.name.key
            // A mark that a later change replaces needs no deletion.
            guard committed[key] == mark.entry, inFlight[key] == nil else { continue }
            forgetting.append(mark)
            forgotten.numbers.append(mark.entry.number)
            forgotten.through = max(forgotten.through, mark.entry.sequence)
        }
        forgottenThrough = max(forgottenThrough, forgotten.through)
        return forgotten
    }

    /// Records that the batch in flight is committed.
    ///
    /// - Parameter now: The time, in microseconds since 1970.
    mutating func persisted(now: UInt64) {
        for mark in forgetting where committed[mark.name.key] == mark.entry {
            committed[mark.name.key] = nil
            removeIfUnused(mark.name)
        }
        forgetting = []
        guard !inFlight.isEmpty else { return }
        for (key, change) in inFlight.sorted(by: { $0.value.entry.sequence < $1.value.entry.sequence }) {
            committed[key] = change.entry
            lastChange = max(lastChange, change.entry.sequence)
            if change.entry.isCleared {
                marks.append(Mark(name: change.name, entry: change.entry, timeMicroseconds: now))
            }
        }
        inFlight = [:]
    }

    /// Takes back the changes of the batch in flight, which has failed. If the next batch depends on them, the caller
    /// must let it fail, too.
    ///
    /// - Returns: The changes of the users' usage.
    mutating func failed() -> [ValueUsage] {
        for mark in forgetting.reversed() { marks.prepend(mark) }
        forgetting = []
        var usage: [ValueUsage?] = []
        let failed = exchange(&inFlight, with: [:])
        for (key, change) in failed where pending[key] == nil {
            usage += [-change.entry.usage, current(key)?.usage]
            removeIfUnused(change.name)
        }
        return note(usage)
    }

    /// Takes back the changes of the next batch.
    ///
    /// - Returns: The changes of the users' usage.
    mutating func nextFailed() -> [ValueUsage] {
        isNextDependent = false
        inFlight = exchange(&pending, with: [:])
        return failed()
    }

    /// Forgets which values were changed up to a sequence, because a new log has replaced the old one, and may lack some.
    mutating func logReplaced(through last: UInt64) { forgottenThrough = max(forgottenThrough, last) }
}
