import SystemPackage
import Testing

@testable import notifyctl

@Suite struct PayloadFileTests {
    /// Up to 4,096 bytes are in a pipe, more in a file in memory.
    @Test(arguments: [0, 1, 4096, 4097, 1 << 20])
    func `a payload is read to its end`(size: Int) throws {
        let payload = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let file = try payload.withUnsafeBytes { (bytes) throws(Errno) in try PayloadFile.open(bytes) }
        let read = try file.closeAfter {
            var read: [UInt8] = []
            try withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 1) { buffer in
                while case let count = try file.read(into: buffer), count > 0 { read += buffer.prefix(count) }
            }
            return read
        }
        #expect(read == payload)
    }
}
