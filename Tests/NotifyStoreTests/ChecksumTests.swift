import CCRC32C
import TestSupport
import Testing

@testable import NotifyStore

/// The two implementations of CRC-32C: with the processor's instruction, and the portable one.
struct ChecksumTests {
    /// The test vectors of RFC 3720, appendix B.4, and the usual check value of CRC-32C.
    @Test(
        arguments: [
            ([UInt8](repeating: 0, count: 32), 0x8A91_36AA),
            ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
            (Array(0..<32), 0x46DD_794E),
            (Array((0..<32).reversed()), 0x113F_DB5C),
            (Array("123456789".utf8), 0xE306_9283),
        ] as [([UInt8], UInt32)])
    func `both implementations compute the known checksums`(bytes: [UInt8], expected: UInt32) {
        #expect(bytes.withUnsafeBytes { Checksum.of($0) } == expected)
        #expect(bytes.withUnsafeBytes { notifyd_crc32c_portable(0, $0.baseAddress, $0.count) } == expected)
    }

    @Test func `both implementations agree for every length and start`() {
        var generator = SeededGenerator(seed: 1)
        let bytes = (0..<300).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
        bytes.withUnsafeBytes { bytes in
            for start in 0..<9 {
                for end in start...bytes.count {
                    let part = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
                    #expect(Checksum.of(part) == notifyd_crc32c_portable(0, part.baseAddress, part.count))
                }
            }
        }
    }
}
