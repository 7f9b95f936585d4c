import NotifyLog
import TestSupport
import Testing

@testable import NotifyBroker

struct RequestListTests {
    private struct Read: ClientRead, Equatable {
        let request: UInt64
        var mayWait = true
        /// Distinguishes requests with the same number.
        var mark = 0

        var connection: ConnectionID { ConnectionID(slot: ConnectionSlot(1), generation: 0) }
        var uid: UInt32 { 0 }
    }

    private var list = RequestList<Read>()

    @Test mutating func `requests keep their order, also those that are put back`() {
        for request in 1...3 as ClosedRange<UInt64> { list.append(Read(request: request)) }
        let first = list.popFirst()
        list.append(Read(request: 4))
        if let first { list.prepend(first) }
        #expect(list.all.map(\.request) == [1, 2, 3, 4] && list.count == 4)
        #expect(list.remove(3) == Read(request: 3) && list.popFirst() == first)
        #expect(list.all.map(\.request) == [2, 4])
    }

    @Test mutating func `only a request that may wait is found by its number`() {
        list.append(Read(request: 1, mayWait: false))
        list.append(Read(request: 1, mark: 1))
        list.append(Read(request: 1, mayWait: false, mark: 2))
        #expect(list.remove(1)?.mark == 1 && list.remove(1) == nil)
        #expect(list.all.map(\.mark) == [0, 2])
    }

    @Test mutating func `of requests with the same number, the last is found`() {
        for mark in 0..<3 { list.append(Read(request: 1, mark: mark)) }
        #expect(list.popFirst()?.mark == 0 && list.remove(1)?.mark == 2 && list.remove(1) == nil)
        #expect(list.popFirst()?.mark == 1 && list.isEmpty)
    }

    @Test mutating func `requests that are not removed may be changed`() {
        for request in 1...4 as ClosedRange<UInt64> { list.append(Read(request: request)) }
        let removed = list.remove { read in
            read.mark = 5
            return read.request.isMultiple(of: 2)
        }
        #expect(removed.map(\.request) == [2, 4] && removed.allSatisfy { $0.mark == 5 })
        #expect(list.remove(3)?.mark == 5 && list.all == [Read(request: 1, mark: 5)])
    }

    @Test(arguments: Seeds.new(20, for: "RequestListTests"))
    mutating func `in any order of operations it is the same as an array`(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var array: [Read] = []
        var last: UInt64 = 0
        for _ in 0..<2_000 {
            switch Int.random(in: 0..<100, using: &random) {
            case ..<40:
                last += 1
                let read = Read(request: last, mayWait: random.chance(80))
                list.append(read)
                array.append(read)
            case ..<55:
                let first = list.popFirst()
                #expect(first == (array.isEmpty ? nil : array.removeFirst()))
                guard random.chance(50), let first else { continue }
                list.prepend(first)
                array.insert(first, at: 0)
            case ..<95:
                let request = UInt64.random(in: 0...last, using: &random)
                let index = array.firstIndex { $0.request == request && $0.mayWait }
                #expect(list.remove(request) == index.map { array.remove(at: $0) })
            default:
                let factor = UInt64.random(in: 1...3, using: &random)
                let removed = list.remove { $0.request.isMultiple(of: factor) }
                #expect(removed == array.filter { $0.request.isMultiple(of: factor) })
                array.removeAll { $0.request.isMultiple(of: factor) }
            }
            #expect(list.count == array.count)
        }
        #expect(list.all == array)
    }
}
