import NotifyLog
import Testing

@testable import NotifyBroker

@Suite struct ValuesTests {
    private var log = RecoveredLog(
        nextSequence: 1, persistedThrough: 0, subscriptions: [], wasClosedCleanly: true,
        nextSubscriptionID: DurableID(1))
    private var values: Values

    init() { values = Values(log) }

    /// Sets a value of 129 bytes, or clears it.
    private mutating func change(
        _ name: String, _ sequence: UInt64, uid: UInt32 = 1, isCleared: Bool = false, isConditional: Bool = false
    ) -> ValueReplacement {
        let entry = ValueEntry(sequence: sequence, uid: uid, bytes: isCleared ? 0 : 129)
        return Array(name.utf8).withUnsafeBytes { bytes in
            let name = ValueName(name: bytes, object: UnsafeRawBufferPointer(start: nil, count: 0))
            return values.change(name, values.find(name.key), to: entry, isConditional: isConditional)
        }
    }

    private func current(_ name: String) -> UInt64? { values.current(ValueKey(name: name, object: ""))?.sequence }

    /// A time at which marks that were committed at the beginning are forgotten.
    private static let aged: UInt64 = 48 * 3_600 * 1_000_000

    /// Commits the mark of a cleared value, with the name "a" and sequence 1.
    private mutating func commitMark() {
        _ = change("a", 1, isCleared: true)
        _ = beginBatch()
        values.persisted(now: 1)
    }

    private mutating func beginBatch() -> [ValueChange] { values.beginBatch(now: 0).changes }

    @Test mutating func `a value that is changed twice in a batch is in it once, at its last sequence`() {
        _ = change("a", 1)
        _ = change("b", 2)
        let replacement = change("a", 3, uid: 2)
        #expect(replacement.old?.uid == 1 && replacement.new?.uid == 2 && replacement.addedBytes == 0)
        let changes = beginBatch()
        #expect(changes.map(\.sequence) == [2, 3])
        #expect(changes.map(\.number) == [2, 1])
        values.persisted(now: 0)
        #expect(values.committedSequence(ValueKey(name: "a", object: "")) == 3)
        #expect(values.totalBytes == 2 * 129 && !values.areUncertain && values.lastChange == 3)
    }

    @Test mutating func `a failed batch takes its changes back, except those that the next batch replaces`() {
        _ = change("a", 1)
        _ = beginBatch()
        values.persisted(now: 0)
        for (name, sequence) in [("a", 2), ("b", 3), ("c", 4)] as [(String, UInt64)] { _ = change(name, sequence) }
        _ = beginBatch()
        _ = change("c", 5)
        let replacements = values.failed()
        #expect(replacements.map(\.old?.sequence) == [2, 3])
        #expect(replacements.map(\.new?.sequence) == [1, nil])
        #expect(["a", "b", "c"].map(current) == [1, nil, 5])
        #expect(values.totalBytes == 2 * 129)
        let changes = beginBatch()
        #expect(changes.map(\.sequence) == [5])
    }

    @Test mutating func `the next batch depends on the one in flight if a change in it is conditional`() {
        _ = change("a", 1)
        _ = beginBatch()
        _ = change("a", 2)
        _ = change("b", 3, isConditional: true)
        #expect(!values.isNextDependent)
        _ = change("a", 4, isConditional: true)
        #expect(values.isNextDependent)
        // Nothing: the next batch replaces the value.
        let replaced = values.failed()
        #expect(replaced.isEmpty)
        let replacements = values.nextFailed()
        #expect(replacements.map(\.old?.sequence) == [3, 4])
        #expect(current("a") == nil && current("b") == nil && !values.isNextDependent)
        #expect(values.totalBytes == 0 && !values.areUncertain)
    }

    @Test mutating func `a forgotten mark does not remove the value that has its slot`() {
        commitMark()
        let forgotten = values.beginBatch(now: Self.aged).forgotten
        #expect(forgotten.numbers == [1])
        values.persisted(now: Self.aged)
        #expect(current("a") == nil)
        _ = change("b", 2)
        let changes = beginBatch()
        #expect(changes.map(\.number) == [2])
        values.persisted(now: Self.aged)
        let nothing = values.beginBatch(now: 2 * Self.aged).forgotten
        #expect(nothing.numbers.isEmpty)
        #expect(current("b") == 2)
    }

    @Test mutating func `a mark that is set again while its deletion is in flight gets another number`() {
        commitMark()
        let forgotten = values.beginBatch(now: Self.aged).forgotten
        #expect(forgotten.numbers == [1])
        _ = change("a", 2)
        values.persisted(now: Self.aged)
        #expect(current("a") == 2)
        let changes = beginBatch()
        #expect(changes == [ValueChange(sequence: 2, number: 2, isCleared: false)], "the row of the mark is deleted")
    }

    @Test mutating func `an old mark is forgotten although a change that would have replaced it has failed`() {
        commitMark()
        _ = change("a", 2)
        let replaced = values.beginBatch(now: Self.aged)
        #expect(replaced.changes.map(\.number) == [1] && replaced.forgotten.numbers.isEmpty)
        _ = values.failed()
        #expect(current("a") == 1)
        let forgotten = values.beginBatch(now: Self.aged).forgotten
        #expect(forgotten.numbers == [1])
    }

    @Test mutating func `of more than 100,000 marks, the oldest are forgotten`() {
        log.values.values = (1...100_002).reversed().map { sequence in
            StoredValue(
                key: ValueKey(name: "a.\(sequence)", object: ""), nameKey: nil, number: 200_000 - sequence,
                sequence: sequence, uid: 1, bytes: 129, isCleared: true, timeMicroseconds: Self.aged)
        }
        log.values.lastNumber = 199_999
        values = Values(log)
        let forgotten = values.beginBatch(now: Self.aged).forgotten
        #expect(forgotten.numbers == [199_999, 199_998] && forgotten.through == 2)
        values.persisted(now: Self.aged)
        #expect(current("a.2") == nil && current("a.3") == 3)
        #expect(!values.areChangesKnown(after: 1) && values.areChangesKnown(after: 2))
        let nothing = values.beginBatch(now: Self.aged).forgotten
        #expect(nothing.numbers.isEmpty)
    }

    @Test mutating func `of two values of one name in a damaged log, the first one counts`() {
        log.values.values = [(1, 8), (2, 9)].map { number, sequence in
            StoredValue(
                key: ValueKey(name: "a", object: "o"), nameKey: ValueKey(name: "a", object: ""), number: number,
                sequence: sequence, uid: 1, bytes: 129, isCleared: number == 1, timeMicroseconds: 0)
        }
        values = Values(log)
        #expect(values.current(ValueKey(name: "a", object: "o"))?.sequence == 8)
        #expect(values.usage.compactMap(\.new?.bytes) == [0] && values.totalBytes == 0)
    }
}
