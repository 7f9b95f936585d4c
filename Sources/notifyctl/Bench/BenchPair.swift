import NotifyClient
import Synchronization

/// Two clients. One of them posts messages, and the other one answers each message.
struct BenchPair: Sendable {
    private let requester: NotificationClient
    private let responder: NotificationClient
    private let count: Int
    private let request: BenchMessage
    private let answer: BenchMessage
    private let requests: NotificationClient.Subscription
    private let answers: NotificationClient.Subscription

    init(
        requester: NotificationClient, responder: NotificationClient, count: Int, name: String, options: BenchOptions
    ) async throws {
        self.requester = requester
        self.responder = responder
        self.count = count
        request = try options.message(name: "\(name).request")
        answer = try options.message(name: "\(name).answer")
        requests = try await responder.subscribe(to: ["\(name).request"])
        answers = try await requester.subscribe(to: ["\(name).answer"])
    }

    /// Posts messages one at a time and measures the time until each answer.
    func request() async throws -> BenchMeasurement {
        var measurement = BenchMeasurement()
        var answers = answers.messages { _ in }.makeAsyncIterator()
        for index in 0..<count {
            let start = MonotonicTime.now
            try await Self.post(request.posted(at: start), of: requester, isFirst: index == 0)
            var received: UInt64?
            while received != start {
                guard let next = try await answers.next() else { return measurement }
                received = answer.time(of: next)
            }
            measurement.end = MonotonicTime.now
            measurement.latencies.record(measurement.end - start)
            BenchProgress.posted.add(1, ordering: .relaxed)
            BenchProgress.received.add(1, ordering: .relaxed)
        }
        return measurement
    }

    /// Answers each request with a message that carries the same time.
    func respond() async throws -> BenchMeasurement {
        var answered = 0
        for try await message in requests.messages(onGap: { _ in }) {
            guard let time = request.time(of: message) else { continue }
            try await Self.post(answer.posted(at: time), of: responder, isFirst: answered == 0)
            answered += 1
            if answered == count { break }
        }
        return BenchMeasurement()
    }

    /// Posts without a receipt, because waiting for receipts takes time. Only the first post waits for its receipt, so
    /// that a refusal is reported.
    private static func post(
        _ message: NotificationClient.OutgoingMessage, of client: NotificationClient, isFirst: Bool
    ) async throws {
        if isFirst { try await client.post(message) } else { try await client.send(message) }
    }
}
