import Algorithms
import NotifyLog

/// The changes of values that are committed, but that may not be in the rows of the values yet: the messages of the log
/// have the values.
///
/// A row may have its change already: readers compare the sequences.
struct UnappliedValues: ~Copyable {
    struct Change: Equatable {
        let change: ValueChange
        /// The size of the value, in bytes.
        let bytes: Int
    }

    /// The last change of each number.
    private var latest: [UInt64: Change] = [:]
    /// The sequences and numbers of the changes, in ascending order of sequence. Some may be replaced by later changes,
    /// or be applied.
    private var order: [(sequence: UInt64, number: UInt64)] = []
    /// The number of changes recorded since the last pass began.
    private(set) var recorded = 0
    /// The time of the log when the first of these changes was recorded, or when the last pass failed.
    private(set) var firstRecorded = Duration.zero
    /// The highest number that has a row.
    private(set) var lastNumber: UInt64 = 0
    /// The sequence of the last change that was recorded; 0 if there is none.
    private(set) var lastRecorded: UInt64 = 0
    /// The sizes of the changed values together, in bytes.
    private(set) var bytes = 0

    /// The smallest number of entries at which the order is compacted.
    private static let leastCompacted = 1_024

    var isEmpty: Bool { latest.isEmpty }
    /// The number of values with a change.
    var count: Int { latest.count }
    /// The numbers with a change, in any order.
    var numbers: some Sequence<UInt64> { latest.keys }

    /// The last change of a number; nil if its row has it.
    func change(of number: UInt64) -> Change? { latest[number] }

    /// The last change of a number, if its row does not have it yet.
    ///
    /// - Parameter stored: The sequence in the row of the value; nil if there is no row.
    func change(of number: UInt64, newerThan stored: UInt64?) -> ValueChange? {
        guard let change = latest[number]?.change else { return nil }
        if let stored, stored >= change.sequence { return nil }
        return change
    }

    /// The sequences after a sequence at which values were changed, in ascending order. The change is nil if it is
    /// replaced or applied.
    func changes(after sequence: UInt64) -> some Sequence<(sequence: UInt64, change: Change?)> {
        let start = order.partitioningIndex { $0.sequence > sequence }
        let latest = latest
        return order[start...].lazy.map { entry in
            let last = latest[entry.number]
            return (entry.sequence, last?.change.sequence == entry.sequence ? last : nil)
        }
    }

    /// The changes in a range of sequences that no later change replaces, in ascending order of sequence.
    func changes(in sequences: ClosedRange<UInt64>) -> [Change] {
        let start = order.partitioningIndex { $0.sequence >= sequences.lowerBound }
        return order[start...].prefix { $0.sequence <= sequences.upperBound }.compactMap { entry in
            latest[entry.number].flatMap { $0.change.sequence == entry.sequence ? $0 : nil }
        }
    }

    /// Adds changes whose batch is committed, in ascending order of sequence.
    mutating func add(_ changes: [Change], at now: Duration) {
        if recorded == 0 { firstRecorded = now }
        for change in changes {
            bytes += change.bytes - (latest.updateValue(change, forKey: change.change.number)?.bytes ?? 0)
            order.append((change.change.sequence, change.change.number))
        }
        recorded += changes.count
        lastRecorded = changes.last?.change.sequence ?? lastRecorded
        compact()
    }

    /// Notes numbers that have rows.
    mutating func noteRows(through number: UInt64) { lastNumber = max(lastNumber, number) }

    /// Removes changes that are in the rows now, unless later ones were added.
    mutating func applied(_ changes: [Change]) {
        for change in changes where latest[change.change.number]?.change.sequence == change.change.sequence {
            remove(change.change.number)
        }
        compact()
    }

    /// Removes the changes of deleted marks of cleared values.
    mutating func forgot(_ numbers: [UInt64]) {
        for number in numbers where latest[number]?.change.isCleared == true { remove(number) }
    }

    private mutating func remove(_ number: UInt64) {
        bytes -= latest.removeValue(forKey: number)?.bytes ?? 0
    }

    /// Removes replaced and applied entries once they are the majority, so that each costs a constant time.
    private mutating func compact() {
        guard order.count > 2 * latest.count + Self.leastCompacted else { return }
        order.removeAll { latest[$0.number]?.change.sequence != $0.sequence }
    }

    /// Notes that a pass begins, which applies all present changes.
    mutating func passBegins() { recorded = 0 }

    /// Notes that a pass has not written all changes, so that another one is needed.
    mutating func passFailed(at now: Duration) { (recorded, firstRecorded) = (max(recorded, 1), now) }

    /// Notes the changes in the records when the log is opened.
    mutating func recovered(_ changes: [Change], recorded count: Int, last: UInt64, at now: Duration) {
        add(changes.sorted { $0.change.sequence < $1.change.sequence }, at: now)
        (recorded, lastRecorded) = (count, last)
    }
}
