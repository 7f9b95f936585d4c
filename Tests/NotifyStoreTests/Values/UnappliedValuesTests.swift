import NotifyLog
import TestSupport
import Testing

@testable import NotifyStore

struct UnappliedValuesTests {
    private func change(_ sequence: UInt64, _ number: UInt64, isCleared: Bool = false, bytes: Int = 100)
        -> UnappliedValues.Change
    {
        UnappliedValues.Change(
            change: ValueChange(sequence: sequence, number: number, isCleared: isCleared), bytes: bytes)
    }

    /// The sequences of the changes that no later change replaces.
    private func sequences(of values: borrowing UnappliedValues, after sequence: UInt64 = 0) -> [UInt64] {
        values.changes(after: sequence).compactMap(\.change?.change.sequence)
    }

    @Test func `the last change of a number counts`() {
        var values = UnappliedValues()
        values.add([change(1, 7, bytes: 10), change(2, 8, bytes: 20)], at: .zero)
        values.add([change(5, 7, bytes: 5)], at: .zero)
        let changes = sequences(of: values)
        #expect(changes == [2, 5])
        let (later, none) = (sequences(of: values, after: 2), sequences(of: values, after: 5))
        #expect(later == [5] && none.isEmpty)
        let all = values.changes(after: 0).map(\.sequence)
        #expect(all == [1, 2, 5], "a replaced change has a sequence, too")
        let some = values.changes(in: 2...4).map(\.change.sequence)
        #expect(some == [2])
        let (count, bytes, recorded, last) = (values.count, values.bytes, values.recorded, values.lastRecorded)
        #expect(count == 2 && bytes == 25 && recorded == 3 && last == 5)
    }

    @Test(arguments: [(nil, true), (4, true), (5, false), (6, false)] as [(UInt64?, Bool)])
    func `a change counts only if the row has an earlier sequence`(stored: UInt64?, counts: Bool) {
        var values = UnappliedValues()
        values.add([change(5, 7)], at: .zero)
        let found = values.change(of: 7, newerThan: stored)
        #expect((found != nil) == counts)
        let other = values.change(of: 8, newerThan: stored)
        #expect(other == nil)
    }

    @Test func `an applied change is removed, unless a later one was added`() {
        var values = UnappliedValues()
        values.add([change(1, 7), change(2, 8)], at: .zero)
        values.add([change(3, 8)], at: .zero)
        values.applied([change(1, 7), change(2, 8)])
        let (changes, bytes) = (sequences(of: values), values.bytes)
        #expect(changes == [3] && bytes == 100)
        values.applied([change(3, 8)])
        let (isEmpty, rest) = (values.isEmpty, values.bytes)
        #expect(isEmpty && rest == 0)
    }

    @Test func `only marks are forgotten`() {
        var values = UnappliedValues()
        values.add([change(1, 7), change(2, 8, isCleared: true)], at: .zero)
        values.forgot([7, 8, 9])
        let changes = sequences(of: values)
        #expect(changes == [1])
    }

    /// Compares with a dictionary, also while entries are compacted.
    @Test func `changes are in the order of their sequences after any adding and applying`() {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        var values = UnappliedValues()
        var model: [UInt64: UInt64] = [:]
        var sequence: UInt64 = 0
        for round in 0..<2_000 {
            if generator.chance(70) {
                let added = (0..<Int.random(in: 1...8, using: &generator)).map { _ in
                    sequence += .random(in: 1...3, using: &generator)
                    return change(sequence, .random(in: 1...50, using: &generator))
                }
                values.add(added, at: .zero)
                for change in added { model[change.change.number] = change.change.sequence }
            } else if let (number, last) = model.randomElement(using: &generator) {
                values.applied([change(last, number)])
                model[number] = nil
            }
            let after = UInt64.random(in: 0...sequence, using: &generator)
            let found = sequences(of: values, after: after)
            #expect(found == model.values.filter { $0 > after }.sorted(), "seed \(seed), round \(round)")
            let bytes = values.bytes
            #expect(bytes == 100 * model.count)
        }
    }

    @Test func `after a failure, a pass is due later`() {
        var values = UnappliedValues()
        values.add([change(1, 7), change(2, 8)], at: .seconds(1))
        values.passBegins()
        values.passFailed(at: .seconds(9))
        let (recorded, first) = (values.recorded, values.firstRecorded)
        #expect(recorded == 1 && first == .seconds(9))
    }
}
