import Foundation
import NIOCore
import Testing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(25))) struct BackupStreamTests {
    @Test func `a write to a full non-blocking output waits for room`() async throws {
        let pipe = Pipe()
        let output = pipe.fileHandleForWriting.fileDescriptor
        try #require(fcntl(output, F_SETFL, O_NONBLOCK) == 0)
        let bytes = ByteBuffer(repeating: 7, count: 1 << 20)
        Thread.detachNewThread {
            // The pipe has no room for all of these bytes, so a write must wait for the reader.
            #expect(throws: Never.self) { try BackupStream(descriptor: output).write(bytes) }
            try? pipe.fileHandleForWriting.close()
        }
        var entry = pollfd(fd: output, events: Int16(POLLOUT), revents: 0)
        while poll(&entry, 1, 0) == 1 { sched_yield() }
        #expect(try pipe.fileHandleForReading.readToEnd()?.count == bytes.readableBytes)
    }
}
