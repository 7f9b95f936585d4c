import NotifyClient

/// Posts messages that match no subscription, and waits for their receipts.
struct Posting {
    private static let batch = 100

    private let client: NotificationClient
    private let message: NotificationClient.OutgoingMessage
    private let duration: Duration

    init(client: NotificationClient, payload: Int, duration: Duration) throws {
        self.client = client
        self.duration = duration
        message = try NotificationClient.OutgoingMessage(
            name: "bench.posts", payload: [UInt8](repeating: 7, count: payload), durability: .volatile)
    }

    /// Posts the next message when the receipt of the previous one has arrived.
    func oneAtATime() async throws -> Measurement {
        let start = ContinuousClock.now
        var trips: [Duration] = []
        var end = start
        repeat {
            let posted = end
            try await client.post(message)
            end = .now
            trips.append(end - posted)
        } while end - start < duration
        return Measurement(messages: trips.count, duration: end - start, trips: trips.sorted())
    }

    /// Posts one message per call, and reads one receipt at a time.
    func pipelined() async throws -> Measurement {
        let pipeline = client.postPipeline()
        async let receipts = pipeline.results.reduce(into: 0) { count, outcome in
            _ = try outcome.get()
            count += 1
        }
        let start = ContinuousClock.now
        var posted = 0
        repeat {
            for _ in 0..<Self.batch { try await pipeline.post(message) }
            posted += Self.batch
        } while ContinuousClock.now - start < duration
        pipeline.finish()
        return try await Self.measurement(posted, receipts: receipts, since: start)
    }

    /// Posts 100 messages per call, and reads the receipts in batches.
    func contents() async throws -> Measurement {
        let pipeline = client.postPipeline()
        async let receipts = pipeline.batches.reduce(into: 0) { count, outcomes in
            for outcome in outcomes { _ = try outcome.get() }
            count += outcomes.count
        }
        let messages = Array(repeating: message, count: Self.batch)
        let start = ContinuousClock.now
        var posted = 0
        repeat {
            try await pipeline.post(contentsOf: messages)
            posted += messages.count
        } while ContinuousClock.now - start < duration
        pipeline.finish()
        return try await Self.measurement(posted, receipts: receipts, since: start)
    }

    private static func measurement(
        _ posted: Int, receipts: Int, since start: ContinuousClock.Instant
    ) throws -> Measurement {
        guard receipts == posted else { throw WrongResult(description: "\(receipts) receipts of \(posted) posts") }
        return Measurement(messages: posted, duration: ContinuousClock.now - start)
    }
}
