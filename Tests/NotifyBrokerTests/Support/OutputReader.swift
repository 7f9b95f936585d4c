import NIOCore
import Testing
import WireTestSupport

/// Reads the complete frames that the broker wrote to a connection, and records violations of the protocol.
struct OutputReader {
    private var reader = ReceivedReader()

    mutating func read(_ bytes: ByteBuffer) -> [Received] {
        var received: [Received] = []
        reader.append(bytes)
        do {
            while let next = try reader.next() { received.append(next) }
        } catch {
            Issue.record("the broker sent a malformed frame: \(error)")
        }
        #expect(reader.isEmpty, "output ends in the middle of a frame")
        return received
    }
}
