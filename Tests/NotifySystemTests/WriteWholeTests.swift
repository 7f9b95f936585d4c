import Glibc
import NotifySystem
import SystemPackage
import TestSupport
import Testing

@Suite struct WriteWholeTests {
    @Test func `all bytes are written to a non-blocking descriptor`() async throws {
        let (reader, writer) = try FileDescriptor.pipe()
        defer { try? reader.close() }
        #expect(fcntl(writer.rawValue, F_SETFL, O_NONBLOCK) == 0)
        // More than a pipe holds.
        let bytes = [UInt8](repeating: 7, count: 1 << 20)
        let counts = try await onThreads(2) { thread in
            if thread == 0 {
                defer { try? writer.close() }
                try bytes.withUnsafeBytes { try writer.writeWhole($0) }
                return 0
            }
            return try withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
                var count = 0
                while case let read = try reader.read(into: buffer), read > 0 { count += read }
                return count
            }
        }
        #expect(counts == [0, bytes.count])
    }

    @Test func `an error ends the write`() throws {
        let full = try FileDescriptor.open("/dev/full", .writeOnly)
        defer { try? full.close() }
        #expect(throws: Errno.noSpace) {
            try [UInt8](repeating: 0, count: 3).withUnsafeBytes { try full.writeWhole($0) }
        }
    }
}
