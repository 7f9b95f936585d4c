import Foundation
import Testing

@testable import NotifyServer

/// Records for an output that accepts no bytes for a while.
@Suite struct RecordQueueTests {
    private let pipe = Pipe()
    private let queue: RecordQueue

    init() {
        queue = RecordQueue(descriptor: pipe.fileHandleForWriting.fileDescriptor) { "dropped \($0)\n" }
    }

    /// Ends the queue, and returns every line written.
    private func allLines() async throws -> [Substring] {
        let (pipe, queue) = (pipe, queue)
        // The flush and the read run on threads of their own, because they block, and other tests may use all threads of
        // tasks.
        Thread.detachNewThread {
            queue.flush(within: .seconds(600))
            queue.end()
            try? pipe.fileHandleForWriting.close()
        }
        let output = try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try pipe.fileHandleForReading.readToEnd() ?? Data() })
            }
        }
        return String(decoding: output, as: UTF8.self).split(separator: "\n")
    }

    @Test func `records are written in order`() async throws {
        for number in 0..<1_000 { queue.append("record \(number)\n") }
        #expect(try await allLines() == (0..<1_000).map { "record \($0)" })
    }

    @Test func `flushing waits for a record that is being written, at most for its limit`() throws {
        let record = String(repeating: "x", count: RecordQueue.maximumBytes - 1) + "\n"
        queue.append(record)
        // Nothing is read, so the pipe stays full. The limit is not measured: the call must only return.
        for limit in [Duration.zero, .milliseconds(1)] { #expect(!queue.flush(within: limit)) }
        Thread.detachNewThread { [pipe] in _ = try? pipe.fileHandleForReading.read(upToCount: record.utf8.count) }
        #expect(queue.flush(within: .seconds(600)))
        queue.end()
    }

    @Test func `records for a full pipe wait up to a limit, and then are dropped and counted`() async throws {
        let record = String(repeating: "x", count: 99)
        let sent = 10 * RecordQueue.maximumBytes / 100
        for _ in 0..<sent { queue.append(record + "\n") }
        let lines = try await allLines()
        let written = lines.count { $0 == record }
        let dropped = lines.compactMap { $0.hasPrefix("dropped ") ? Int($0.dropFirst(8)) : nil }
        #expect(written >= RecordQueue.maximumBytes / 100)
        #expect(written + dropped.reduce(0, +) == sent)
        #expect(written + dropped.count == lines.count)
    }
}
