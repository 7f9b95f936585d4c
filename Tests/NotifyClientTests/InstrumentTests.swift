import InMemoryTracing
import Logging
import Metrics
import MetricsTestKit
import NotifyWire
import Testing
import Tracing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(25))) struct InstrumentTests {
    private let metrics = TestMetrics()
    private let tracer = InMemoryTracer()

    private func client(_ daemon: FakeDaemon) -> NotificationClient {
        NotificationClient(
            core: ClientCore(
                configuration: .test(daemon.path), logger: nil,
                instruments: ClientInstruments(factory: metrics, tracer: tracer)))
    }

    private func count(_ name: String, _ dimensions: [(String, String)] = []) throws -> Int64 {
        try metrics.expectCounter("notify_client_" + name, dimensions).totalValue
    }

    @Test func `without a backend, nothing is measured`() {
        #expect(ClientInstruments() == nil)
    }

    @Test func `the span of a handler is the child of the post's span`() async throws {
        try await FakeDaemon.run { daemon in
            let client = client(daemon)
            client.core.start()
            let connection = try await daemon.accept()
            async let receipt = client.post("a.b", "1", headers: ["k": "v"])
            let frame = try #require(try await connection.next())
            let post = try frame.readPost()
            connection.sendReceipt(post.request, sequence: 5, durability: .stored)
            _ = try await receipt
            let sent = try #require(tracer.finishedSpans.first)
            #expect(sent.operationName == "post a.b" && sent.kind == .producer && sent.errors.isEmpty)

            // The daemon delivers the message with its headers.
            let headers = post.headers
            #expect(headers.first?.key == "k")
            #expect(headers.dropFirst().allSatisfy { $0.key.hasPrefix("notifyd-trace-") } && headers.count > 1)
            let work = Task {
                try await client.work(on: "a.*", as: .durable("d", sharing: .group)) { message in
                    #expect(message.text == "1")
                    #expect(InstrumentationContext.current != nil)
                }
            }
            let number = try await connection.acceptSubscription().subscription
            let describe: Describe = try await connection.expect()
            connection.send(
                DurableDescription(
                    DurableEntry(request: describe.request, uid: 1, durableName: "d", patterns: ["a.*"]),
                    settings: NotifyWire.DurableSettings(defaultsFor: .group)))
            let encoded = try HeaderList.encode(headers)
            connection.send { buffer in
                Run(subscription: number, count: 1, isRedelivery: false).write(to: &buffer)
                buffer.writeDelivery(5, "a.b", headers: encoded, payload: "1")
            }
            while let frame = try await connection.next(), frame.kind != .acknowledge {}
            work.cancel()
            try await work.value
            let handled = try #require(tracer.finishedSpans.last)
            #expect(handled.operationName == "process a.b" && handled.kind == .consumer)
            #expect(handled.traceID == sent.traceID && handled.parentSpanID == sent.spanID)
            await client.stop()
        }
    }

    @Test func `a pipeline counts no post that it refuses`() async throws {
        try await FakeDaemon.run(listening: false) { daemon in
            let pipeline = client(daemon).postPipeline()
            try await pipeline.post(.init(name: "a.b"))
            pipeline.finish()
            let error = await #expect(throws: NotifyError.self) { try await pipeline.post(.init(name: "a.b")) }
            #expect(error?.code == .invalidArgument)
            #expect(try count("posts") == 1)
        }
    }

    @Test func `posts, outcomes, deliveries, drops and connections are counted`() async throws {
        try await FakeDaemon.run { daemon in
            let client = client(daemon)
            client.core.start()
            let first = try await daemon.accept()
            async let receipt = client.post("a.b")
            first.sendReceipt(try await first.expectPost().request, durability: .stored)
            _ = try await receipt
            let refused = Task { try await client.post("a.b") }
            first.send(ErrorFrame(request: try await first.expectPost().request, code: .logFull, message: "full"))
            let error = await #expect(throws: NotifyError.self) { try await refused.value }
            #expect(error?.code == .logFull)
            async let opening = client.subscribe(to: ["a.*"])
            try await first.acceptSubscription()
            first.send { buffer in
                Gap(dropped: 4, range: SequenceRange(first: 1, last: 4)).write(to: &buffer)
                for sequence in 5...7 { buffer.writeDelivery(UInt64(sequence)) }
            }
            let subscription = try await opening
            _ = try await subscription.messages(onGap: { _ in }).first { $0.sequence == 7 }
            try await first.close()
            try await daemon.accept().acceptSubscription()
            await client.stop()
            #expect(try count("posts") == 2)
            #expect(try count("receipts", [("outcome", "stored")]) == 1)
            #expect(try count("receipts", [("outcome", "logFull")]) == 1)
            #expect(try count("deliveries") == 3)
            #expect(try count("dropped", [("by", "daemon")]) == 4)
            #expect(try count("connections") == 2)
            #expect(try count("connections_lost") == 1)
            #expect(try metrics.expectTimer("notify_client_request_duration").values.count == 2)
            let spans = tracer.finishedSpans
            #expect(spans.count == 2 && spans.last?.errors.isEmpty == false)
        }
    }
}
