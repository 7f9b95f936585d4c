import Testing

@testable import NotifyCenter

@Suite struct KeyedHashTests {
    /// The key of the published test vectors of SipHash-1-3: the bytes 0 to 15.
    private let hash = KeyedHash(key0: 0x0706_0504_0302_0100, key1: 0x0F0E_0D0C_0B0A_0908)

    /// An independent implementation of SipHash-1-3 that reads single bytes.
    private func reference(_ bytes: [UInt8]) -> UInt64 {
        let key: (UInt64, UInt64) = (0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908)
        var v: [UInt64] = [
            key.0 ^ 0x736F_6D65_7073_6575, key.1 ^ 0x646F_7261_6E64_6F6D, key.0 ^ 0x6C79_6765_6E65_7261,
            key.1 ^ 0x7465_6462_7974_6573,
        ]
        func rotated(_ value: UInt64, _ bits: UInt64) -> UInt64 { value << bits | value >> (64 - bits) }
        func round() {
            v[0] &+= v[1]
            v[2] &+= v[3]
            v[1] = rotated(v[1], 13) ^ v[0]
            v[3] = rotated(v[3], 16) ^ v[2]
            v[0] = rotated(v[0], 32)
            v[2] &+= v[1]
            v[0] &+= v[3]
            v[1] = rotated(v[1], 17) ^ v[2]
            v[3] = rotated(v[3], 21) ^ v[0]
            v[2] = rotated(v[2], 32)
        }
        var padded = bytes + Array(repeating: 0, count: 7 - bytes.count % 8) + [UInt8(truncatingIfNeeded: bytes.count)]
        while !padded.isEmpty {
            let word = padded.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            padded.removeFirst(8)
            v[3] ^= word
            round()
            v[0] ^= word
        }
        v[2] ^= 0xFF
        for _ in 0..<3 { round() }
        return v.reduce(0, ^)
    }

    @Test func `the first test vector has the published hash`() {
        #expect([UInt8]().withUnsafeBytes { hash($0) } == 0xABAC_0158_050F_C4DC)
        #expect(hash(UnsafeRawBufferPointer(start: nil, count: 0)) == 0xABAC_0158_050F_C4DC)
    }

    @Test func `every length agrees with a bytewise implementation`() {
        for count in 0...300 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ count) }
            #expect(bytes.withUnsafeBytes { hash($0) } == reference(bytes), "\(count) bytes")
        }
    }

    @Test func `every new hash function has its own key`() {
        let bytes: [UInt8] = Array("orders.created".utf8)
        #expect(bytes.withUnsafeBytes { KeyedHash()($0) } != bytes.withUnsafeBytes { KeyedHash()($0) })
    }

    @Test func `a chained hash depends on both inputs`() {
        let bytes: [UInt8] = Array("object".utf8)
        let results = Set((0..<100).map { first in bytes.withUnsafeBytes { hash(UInt64(first), then: $0) } })
        #expect(results.count == 100)
    }
}
