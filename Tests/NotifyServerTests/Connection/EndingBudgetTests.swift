import Testing

@testable import NotifyServer

struct EndingBudgetTests {
    /// The number of connections that can end before others are served.
    private func ends(afterReading bytes: Int) -> Int {
        var budget = EndingBudget()
        var count = 0
        while !budget.isUsedUp {
            budget.connectionEnded(afterReading: bytes)
            count += 1
        }
        return count
    }

    @Test func `the more input is read from ending connections, the fewer end in a turn`() {
        #expect(ends(afterReading: 0) == EndingBudget.connectionsPerTurn)
        #expect(ends(afterReading: 100) == EndingBudget.connectionsPerTurn)
        #expect(ends(afterReading: 64 << 10) < EndingBudget.connectionsPerTurn / 4)
        #expect(ends(afterReading: .max / 2) == 1)
    }

    @Test func `a turn begins with the whole budget`() {
        var budget = EndingBudget()
        for _ in 0..<EndingBudget.connectionsPerTurn { budget.connectionEnded() }
        #expect(budget.isUsedUp)
        budget.turnBegan()
        #expect(!budget.isUsedUp)
    }
}
