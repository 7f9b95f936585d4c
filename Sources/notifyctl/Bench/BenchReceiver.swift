import NotifyClient
import Synchronization

/// Receives the messages of a run, acknowledges them, and measures the time from each post until its arrival.
struct BenchReceiver: Sendable {
    let subscription: NotificationClient.Subscription
    let message: BenchMessage
    let count: Int

    /// Receives until every message has arrived or is reported as dropped.
    func run() async throws -> BenchMeasurement {
        var measurement = BenchMeasurement()
        for try await batch in subscription.batches {
            for gap in batch.gaps { measurement.dropped += try Self.dropped(gap) }
            measurement.end = MonotonicTime.now
            for received in batch {
                guard let time = message.time(of: received) else { continue }
                measurement.latencies.record(measurement.end - time)
                received.acknowledge()
            }
            BenchProgress.received.add(UInt64(batch.count), ordering: .relaxed)
            if measurement.latencies.count + measurement.dropped >= count { break }
        }
        return measurement
    }

    private static func dropped(_ gap: NotificationClient.Gap) throws -> UInt64 {
        guard let missed = gap.missed, !gap.isUpperBound else {
            throw CommandFailure(.failure, "the benchmark was disturbed: \(gap)")
        }
        return missed
    }
}
