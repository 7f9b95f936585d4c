import Testing

@testable import NotifyCenter

@Suite struct PoolTests {
    @Test func `slots are reused last in, first out`() {
        var pool = Pool<Int>()
        let numbers = (0..<100).map { pool.insert($0) }
        #expect(numbers == Array(0..<100))
        for number in [3, 50, 7] as [Int32] { pool.remove(number) }
        let count = pool.count
        #expect(count == 97)
        let again = (0..<4).map { pool.insert(1_000 + $0) }
        #expect(again == [7, 50, 3, 100])
        let (first, second, kept) = (pool[7], pool[50], pool[99])
        #expect((first, second, kept) == (1_000, 1_001, 99))
    }

    @Test func `the last removal releases the memory`() {
        var pool = Pool<Int>()
        for number in 0..<1_000 { _ = pool.insert(number) }
        let full = pool.byteCount
        #expect(full >= 8_000)
        for number in 0..<1_000 as Range<Int32> { pool.remove(number) }
        let (bytes, extent) = (pool.byteCount, pool.extent)
        #expect((bytes, extent) == (0, 0))
        let number = pool.insert(5)
        #expect(number == 0)
    }
}

@Suite struct ReusableBufferTests {
    @Test func `filtering keeps the order of the values, and calls the predicate once for each`() {
        var buffer = ReusableBuffer<Int>()
        for value in 0..<100 { buffer.append(value) }
        var asked: [Int] = []
        buffer.keepAll { value in
            asked.append(value)
            return value % 3 == 0
        }
        #expect(asked == Array(0..<100))
        let kept = Array(buffer.values)
        #expect(kept == Array(stride(from: 0, to: 100, by: 3)))
        buffer.removeAll()
        let isEmpty = buffer.isEmpty
        #expect(isEmpty)
    }

    @Test func `memory above the limit is released`() {
        var buffer = ReusableBuffer<Int>()
        buffer.append(1)
        let small = buffer.values.baseAddress
        buffer.removeAll(keepingAtMost: 16)
        buffer.append(2)
        let same = buffer.values.baseAddress
        #expect(small == same)
        for value in 0..<1_000 { buffer.append(value) }
        buffer.removeAll(keepingAtMost: 16)
        let released = buffer.values.baseAddress
        #expect(released == nil)
    }
}
