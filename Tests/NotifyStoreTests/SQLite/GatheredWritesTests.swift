import CSQLite
import Testing

@testable import NotifyStore

/// Writes of SQLite to a file, gathered into fewer ones.
@Suite struct GatheredWritesTests {
    /// The writes that reach the file.
    private final class File {
        private(set) var writes: [(offset: Int64, bytes: [UInt8])] = []
        var code = SQLITE_OK

        func write(_ bytes: UnsafeRawBufferPointer, _ offset: Int64) -> Int32 {
            writes.append((offset, Array(bytes)))
            return code
        }

        var ranges: [Range<Int64>] { writes.map { $0.offset..<$0.offset + Int64($0.bytes.count) } }
    }

    private let file = File()

    private func add(_ count: Int, at offset: Int64, filledWith byte: UInt8 = 1, to writes: inout GatheredWrites)
        -> Int32
    {
        [UInt8](repeating: byte, count: count).withUnsafeBytes { writes.add($0, at: offset, file.write) }
    }

    /// Adds the header of a frame and its page.
    private func addFrame(isLast: Bool, at offset: Int64, to writes: inout GatheredWrites) -> Int32 {
        let header: [UInt8] = [0, 0, 0, 9, 0, 0, 0, isLast ? 9 : 0] + [UInt8](repeating: 5, count: 16)
        let code = header.withUnsafeBytes { writes.add($0, at: offset, file.write) }
        return code == SQLITE_OK ? add(4096, at: offset + 24, to: &writes) : code
    }

    @Test func `headers that are written again after the last frame are written at once`() {
        var writes = GatheredWrites(isLog: true)
        #expect(add(32, at: 0, to: &writes) == SQLITE_OK)
        #expect(addFrame(isLast: false, at: 32, to: &writes) == SQLITE_OK)
        #expect(addFrame(isLast: true, at: 4152, to: &writes) == SQLITE_OK)
        #expect(file.ranges == [0..<8272] && writes.count == 0)
        let header: [UInt8] = [0, 0, 0, 9, 0, 0, 0, 9] + [UInt8](repeating: 6, count: 16)
        for offset in [32, 4152] as [Int64] {
            #expect(header.withUnsafeBytes { writes.add($0, at: offset, file.write) } == SQLITE_OK)
            #expect(file.ranges.last == offset..<offset + 24 && writes.count == 0)
        }
    }

    @Test func `a last frame over the rest of an earlier transaction is written at once`() {
        var writes = GatheredWrites(isLog: true)
        #expect(addFrame(isLast: true, at: 32, to: &writes) == SQLITE_OK)
        // An earlier transaction has ended after the header of its next frame.
        #expect(add(24, at: 4152, filledWith: 0, to: &writes) == SQLITE_OK)
        #expect(addFrame(isLast: true, at: 4152, to: &writes) == SQLITE_OK)
        #expect(writes.count == 0 && file.ranges.last?.upperBound == 8272)
    }

    @Test func `neighboring writes become one`() {
        var writes = GatheredWrites(isLog: false)
        for index in 0..<5 {
            #expect(add(10, at: 100 + 10 * Int64(index), filledWith: UInt8(index), to: &writes) == SQLITE_OK)
        }
        #expect(file.writes.isEmpty && writes.end == 150)
        #expect(writes.flush(file.write) == SQLITE_OK)
        #expect(file.ranges == [100..<150])
        #expect(file.writes[0].bytes == (0..<5).flatMap { [UInt8](repeating: $0, count: 10) })
        #expect(writes.flush(file.write) == SQLITE_OK && file.writes.count == 1, "nothing is left")
    }

    @Test func `writes elsewhere keep the order`() {
        var writes = GatheredWrites(isLog: false)
        for offset in [0, 100, 50, 60, 0] as [Int64] { #expect(add(10, at: offset, to: &writes) == SQLITE_OK) }
        #expect(writes.flush(file.write) == SQLITE_OK)
        #expect(file.ranges == [0..<10, 100..<110, 50..<70, 0..<10])
    }

    @Test func `at most 64 KiB are gathered`() {
        var writes = GatheredWrites(isLog: false)
        for index in 0..<17 as Range<Int64> { #expect(add(4096, at: 4096 * index, to: &writes) == SQLITE_OK) }
        #expect(file.ranges == [0..<65_536])
        #expect(add(100_000, at: 69_632, to: &writes) == SQLITE_OK)
        #expect(file.ranges == [0..<65_536, 65_536..<69_632, 69_632..<169_632])
    }

    @Test func `the last frame of a transaction writes all frames`() {
        var writes = GatheredWrites(isLog: true)
        #expect(addFrame(isLast: false, at: 32, to: &writes) == SQLITE_OK && file.writes.isEmpty)
        #expect(addFrame(isLast: true, at: 4152, to: &writes) == SQLITE_OK)
        #expect(file.ranges == [32..<8272])
        #expect(addFrame(isLast: false, at: 8272, to: &writes) == SQLITE_OK && file.writes.count == 1)
    }

    @Test func `the last frame reports the failure of a write, and its transaction is dropped`() {
        var writes = GatheredWrites(isLog: true)
        file.code = SQLITE_FULL
        #expect(addFrame(isLast: false, at: 32, to: &writes) == SQLITE_OK)
        #expect(addFrame(isLast: true, at: 4152, to: &writes) == SQLITE_FULL)
        file.code = SQLITE_OK
        #expect(addFrame(isLast: true, at: 32, to: &writes) == SQLITE_OK)
        #expect(file.ranges == [32..<8272, 32..<4152])
    }

    @Test func `a database keeps the bytes that it could not write`() {
        var writes = GatheredWrites(isLog: false)
        #expect(add(10, at: 0, to: &writes) == SQLITE_OK)
        file.code = SQLITE_IOERR
        #expect(writes.flush(file.write) == SQLITE_IOERR && writes.count == 10)
        #expect(add(10, at: 100, to: &writes) == SQLITE_IOERR)
        file.code = SQLITE_OK
        #expect(writes.flush(file.write) == SQLITE_OK && file.ranges == [0..<10, 0..<10, 0..<10])
    }

    @Test(arguments: [(0..<10, false), (5..<11, true), (19..<30, true), (20..<30, false)] as [(Range<Int64>, Bool)])
    func `a read overlaps gathered bytes`(range: Range<Int64>, overlaps: Bool) {
        var writes = GatheredWrites(isLog: false)
        let overlapsNothing = writes.overlaps(range)
        #expect(!overlapsNothing)
        #expect(add(10, at: 10, to: &writes) == SQLITE_OK)
        let result = writes.overlaps(range)
        #expect(result == overlaps)
    }
}
