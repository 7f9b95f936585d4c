import NotifyWire
import Testing

@testable import NotifyStore

struct EncodingTests {
    @Test(arguments: [[], [1], [1, 2, 3], [127, 128, 129], [UInt32.max, 1, 70_000, 16_384]] as [[UInt32]])
    func nameSetsComeBackInOrder(names: [UInt32]) {
        let decoded = NameSet.encode(names).withUnsafeBytes { bytes in
            var reader = NameSet.Reader(bytes)
            var result: [UInt32] = []
            while let name = reader.next() { result.append(name) }
            return result
        }
        #expect(decoded == names.sorted())
    }

    @Test func aDenseNameSetTakesAByteForEachName() {
        #expect(NameSet.encode(Array(1...4096)).count == 4096)
    }

    @Test func rangesComeBack() {
        let ranges = [
            SequenceRange(first: 1, last: 1), SequenceRange(first: 3, last: 900),
            SequenceRange(first: 1 << 52, last: (1 << 53) - 1),
        ]
        for count in 0...ranges.count {
            let part = Array(ranges.prefix(count))
            #expect(RangeSet.encode(part)?.withUnsafeBytes { RangeSet.decode($0) } == part)
        }
    }

    @Test func rangesThatDoNotRiseAreRefused() {
        #expect(RangeSet.encode([SequenceRange(first: 5, last: 6), SequenceRange(first: 1, last: 2)]) == nil)
        #expect(RangeSet.encode([SequenceRange(first: 5, last: 4)]) == nil)
    }

    @Test(arguments: [[0x80], [5], [5, 0x80], [1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]])
    func rangesCutShortAreRefused(bytes: [UInt8]) {
        #expect(bytes.withUnsafeBytes { RangeSet.decode($0) } == nil)
    }
}
