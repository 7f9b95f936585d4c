import NotifyClient
import Synchronization

/// Posts the messages of one client, and measures the time until each receipt.
struct BenchPoster: Sendable {
    let client: NotificationClient
    let message: BenchMessage
    let count: Int
    /// The maximum number of posts that wait for their receipts.
    let window: Int

    /// - Throws: The error of the first post that fails.
    func run() async throws -> BenchMeasurement {
        let pipeline = client.postPipeline(capacity: window)
        var outcomes = pipeline.batches.makeAsyncIterator()
        var startTimes = [UInt64](repeating: 0, count: window)
        var measurement = BenchMeasurement()
        var (posted, done) = (0, 0)
        while done < count {
            // The pipeline has room for these messages, so the call does not wait.
            let room = min(window - (posted - done), count - posted)
            let start = MonotonicTime.now
            for index in posted..<posted + room { startTimes[index % window] = start }
            try await pipeline.post(contentsOf: repeatElement(message.posted(at: start), count: room))
            posted += room
            guard let batch = try await outcomes.next() else { break }
            measurement.end = MonotonicTime.now
            BenchProgress.posted.add(UInt64(batch.count), ordering: .relaxed)
            for outcome in batch {
                _ = try outcome.get()
                measurement.latencies.record(measurement.end - startTimes[done % window])
                done += 1
            }
        }
        pipeline.finish()
        return measurement
    }
}
