import TestSupport
import Testing

@testable import NotifyCenter

@Suite struct PlainNameScanTests {
    private func accepts(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { PlainNameScan.accepts($0) } }

    private func isValid(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { (try? NameGrammar.check($0, isPattern: false)) != nil }
    }

    /// The scan must accept a name of printable ASCII without wildcards if and only if the name is valid. The scan may
    /// refuse any other name, but must not accept an invalid one.
    @Test func `the scan agrees with the grammar`() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("PlainNameScanTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        var accepted = 0
        for _ in 0..<200_000 {
            var bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                Int.random(in: 0..<6, using: &random) == 0
                    ? UInt8(ascii: ".") : UInt8.random(in: 0x61...0x7A, using: &random)
            }
            let isPlain = Bool.random(using: &random) || bytes.isEmpty
            if !isPlain {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                bytes[index] = UInt8.random(in: 0...255, using: &random)
            }
            let isAccepted = accepts(bytes)
            if isAccepted { accepted += 1 }
            if isPlain ? isAccepted != isValid(bytes) : isAccepted && !isValid(bytes) {
                Issue.record("seed \(seed): \(bytes)")
            }
        }
        #expect(accepted > 1_000)
    }

    @Test func `every byte is checked at every position`() {
        for count in 1...24 {
            for place in 0..<count {
                for byte in UInt8(0)...255 {
                    var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: count)
                    bytes[place] = byte
                    let isPlain = (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "*") && byte != UInt8(ascii: ">")
                    if accepts(bytes) != (isPlain && isValid(bytes)) {
                        Issue.record("byte \(byte) at \(place) of \(count)")
                    }
                }
            }
        }
    }

    @Test func `length and number of tokens are limited`() {
        for count in [1, 7, 8, 9, 254, 255] {
            #expect(accepts([UInt8](repeating: 0x61, count: count)), "\(count) bytes")
        }
        for count in [0, 256] { #expect(!accepts([UInt8](repeating: 0x61, count: count)), "\(count) bytes") }
        for count in [31, 32] {
            #expect(accepts(Array(Array(repeating: "t", count: count).joined(separator: ".").utf8)))
        }
        #expect(!accepts(Array(Array(repeating: "t", count: 33).joined(separator: ".").utf8)))
    }
}
