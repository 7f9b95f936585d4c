import NotifyWire
import Testing

@testable import NotifyStore

struct EncodingTests {
    @Test(arguments: [[], [1], [1, 2, 3], [127, 128, 129], [UInt32.max, 1, 70_000, 16_384]] as [[UInt32]])
    func `entries of segments are decoded in order of their names`(names: [UInt32]) {
        let entries = names.map {
            SegmentEntry(name: $0, uid: .max - $0, messages: $0 ^ 7, bytes: UInt64($0) << 21 | 5)
        }
        let decoded = SegmentEncoding.encode(entries).withUnsafeBytes { Array(SegmentEncoding.Reader($0)) }
        #expect(decoded == entries.sorted { $0.name < $1.name })
    }

    @Test func `an entry of a segment with many names takes six bytes`() {
        let entries = (1...4096).map { SegmentEntry(name: $0, uid: 1000, messages: 1, bytes: 200) }
        #expect(SegmentEncoding.encode(entries).count == 4096 * 6)
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
    func `malformed ranges are refused`(bytes: [UInt8]) {
        #expect(bytes.withUnsafeBytes { RangeListEncoding.decode($0) } == nil)
    }
}
