import CCRC32C

/// A CRC-32C over bytes and numbers, to detect rows that were damaged on disk.
struct Checksum {
    private(set) var value: UInt32 = 0

    /// The checksum of bytes.
    static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 { notifyd_crc32c(0, bytes.baseAddress, bytes.count) }

    mutating func add(_ number: UInt64) {
        withUnsafeBytes(of: number.littleEndian) { value = notifyd_crc32c(value, $0.baseAddress, $0.count) }
    }

    /// Adds two numbers in one call, which takes half the time.
    mutating func add(_ first: UInt64, _ second: UInt64) {
        withUnsafeBytes(of: (first.littleEndian, second.littleEndian)) {
            value = notifyd_crc32c(value, $0.baseAddress, $0.count)
        }
    }

    /// Adds the bytes and their number, so that bytes can't move from one column to the next.
    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        add(UInt64(bytes.count))
        value = notifyd_crc32c(value, bytes.baseAddress, bytes.count)
    }

    mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
    }
}
