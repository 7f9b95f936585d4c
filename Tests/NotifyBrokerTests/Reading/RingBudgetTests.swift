import Testing

@testable import NotifyBroker

struct RingBudgetTests {
    /// Lets readers read until the budget is used up, and returns the number of entries that each of them read.
    private func read(readers: Int, isBusy: Bool, work perEntry: Int = 0) -> [Int] {
        var work = 1_000
        var budget = RingBudget(readers: readers, isBusy: isBusy, work: work)
        var counts: [Int] = []
        while counts.count < readers, budget.beginReader(work: work) {
            var count = 0
            while budget.takeEntry(work: work) {
                count += 1
                work += perEntry
            }
            counts.append(count)
        }
        return counts
    }

    @Test func `readers share the entries of a tick`() {
        #expect(read(readers: 1, isBusy: false) == [4096])
        #expect(read(readers: 4, isBusy: false) == [2048, 2048, 2048, 2048])
        #expect(read(readers: 4, isBusy: true) == [512, 512, 512, 512])
    }

    @Test func `the entries of a tick are bounded with any number of readers`() {
        let counts = read(readers: 10_000, isBusy: true)
        #expect(counts.allSatisfy { $0 == 16 })
        #expect(counts.count == 128)
    }

    @Test func `entries that take much work end the tick early`() {
        #expect(read(readers: 2, isBusy: false, work: 1 << 10) == [32])
    }
}
