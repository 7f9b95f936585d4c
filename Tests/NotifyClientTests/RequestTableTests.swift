import Testing

@testable import NotifyClient

@Suite struct RequestTableTests {
    @Test func `request numbers increase from 1 and are never reused`() {
        var table = RequestTable<String>()
        #expect(table.append("a") == 1)
        #expect(table.skip() == 2)
        #expect(table.append("b") == 3)
        #expect(table.takeAll().map(\.request) == [1, 3])
        #expect(table.append("c") == 4)
    }

    @Test func `entries are taken once, in any order`() {
        var table = RequestTable<String>()
        for name in ["a", "b", "c"] { _ = table.append(name) }
        #expect(table.take(2) == "b")
        #expect(table.take(2) == nil)
        #expect(table.take(1) == "a")
        #expect(table.span == 1)
        #expect(table.take(3) == "c")
        #expect(table.isEmpty && table.span == 0)
    }

    @Test func `unknown request numbers have no entry`() {
        var table = RequestTable<String>()
        #expect(table.take(0) == nil)
        #expect(table.take(1) == nil)
        _ = table.append("a")
        #expect(table.take(.max) == nil)
        #expect(table[1] == "a")
    }

    @Test func `an entry that stays pending keeps a limited number of places`() {
        var table = RequestTable<Int>()
        let span = RequestTable<Int>.maximumSpan
        for number in 1...2 * span {
            #expect(table.append(number) == number)
            if number > 2 { #expect(table.take(UInt64(number)) == number) }
        }
        #expect(table.span <= span && table.count == 2 && table.answeredBelow == 1)
        #expect(table.pending(below: 2) == [1] && table.pending(below: .max) == [1, 2])
        #expect(table[2] == 2 && table[3] == nil && table.firstRequest { $0 == 2 } == 2)
        table.update(2) { $0 = 22 }
        #expect(table.take(1) == 1 && table.take(1) == nil)
        #expect(table.answeredBelow == 2)
        let last = table.append(5)
        #expect(table.takeAll().map(\.request) == [2, last] && table.isEmpty && table.take(2) == nil)
        #expect(table.answeredBelow == last + 1 && table.nextRequest == last + 1)
    }

    @Test func `entries of which most are pending keep their places`() {
        var table = RequestTable<Int>()
        let total = 4 * RequestTable<Int>.maximumSpan
        for number in 1...total { #expect(table.append(number) == number) }
        #expect(table.span == total)
        for number in 1...total { #expect(table.take(UInt64(number)) == number) }
        #expect(table.isEmpty && table.span == 0)
    }

    @Test func `places in the middle are released together with those before them`() {
        var table = RequestTable<Int>()
        for number in 1...1000 { _ = table.append(number) }
        for request in (2...1000).reversed() { _ = table.take(UInt64(request)) }
        #expect(table.span == 1000)
        _ = table.take(1)
        #expect(table.span == 0)
        #expect(table.nextRequest == 1001)
    }
}
