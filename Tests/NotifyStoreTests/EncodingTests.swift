import NotifyWire
import Testing

@testable import NotifyStore

struct EncodingTests {
    @Test(arguments: [[], [1], [1, 2, 3], [127, 128, 129], [UInt32.max, 1, 70_000, 16_384]] as [[UInt32]])
    func `name lists are decoded in order`(names: [UInt32]) {
        let decoded = NameListEncoding.encode(names).withUnsafeBytes { bytes in
            var reader = NameListEncoding.Reader(bytes)
            var result: [UInt32] = []
            while let name = reader.next() { result.append(name) }
            return result
        }
        #expect(decoded == names.sorted())
    }

    @Test func `a dense name list uses one byte per name`() {
        #expect(NameListEncoding.encode(Array(1...4096)).count == 4096)
    }

    @Test func `ranges are decoded as encoded`() {
        let ranges = [
            SequenceRange(first: 1, last: 1), SequenceRange(first: 3, last: 900),
            SequenceRange(first: 1 << 52, last: (1 << 53) - 1),
        ]
        for count in 0...ranges.count {
            let part = Array(ranges.prefix(count))
            #expect(RangeListEncoding.encode(part)?.withUnsafeBytes { RangeListEncoding.decode($0) } == part)
        }
    }

    @Test func `ranges that do not increase are refused`() {
        #expect(RangeListEncoding.encode([SequenceRange(first: 5, last: 6), SequenceRange(first: 1, last: 2)]) == nil)
        #expect(RangeListEncoding.encode([SequenceRange(first: 5, last: 4)]) == nil)
    }

    @Test(arguments: [[0x80], [5], [5, 0x80], [1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]])
    func `truncated ranges are refused`(bytes: [UInt8]) {
        #expect(bytes.withUnsafeBytes { RangeListEncoding.decode($0) } == nil)
    }
}
