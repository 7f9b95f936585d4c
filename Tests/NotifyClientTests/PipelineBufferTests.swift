import Testing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(25))) struct PipelineBufferTests {
    private func fill(_ buffer: PipelineBuffer, _ indices: UInt64...) {
        var outcomes = PostOutcomes()
        for index in indices {
            outcomes.append(.pipeline(buffer, index: index), .failure(NotifyError(.refused, "\(index)")))
        }
        outcomes.report()
    }

    private func messages(_ outcomes: [PipelineBuffer.Outcome]) -> [String] {
        outcomes.map { outcome in
            switch outcome {
            case .success: "success"
            case .failure(let error): error.message
            }
        }
    }

    @Test func `outcomes come in the order of the posts`() async throws {
        let buffer = PipelineBuffer(capacity: 8)
        #expect(try await buffer.reserve(3) == (0, 3))
        fill(buffer, 2, 1)
        fill(buffer, 0)
        #expect(messages(try await buffer.next()) == ["0", "1", "2"])
    }

    @Test func `the producer waits for the consumer`() async throws {
        let buffer = PipelineBuffer(capacity: 2)
        #expect(try await buffer.reserve(5) == (0, 2))
        async let more = buffer.reserve(5)
        fill(buffer, 0, 1)
        #expect(messages(try await buffer.next()) == ["0", "1"])
        #expect(try await more == (2, 2))
    }

    @Test func `the end comes after the last outcome`() async throws {
        let buffer = PipelineBuffer(capacity: 2)
        _ = try await buffer.reserve(1)
        buffer.finish()
        async let last = buffer.next()
        fill(buffer, 0)
        #expect(messages(try await last) == ["0"])
        #expect(try await buffer.next().isEmpty)
        await #expect(throws: NotifyError.self) { _ = try await buffer.reserve(1) }
    }

    @Test func `finishing ends a waiting consumer`() async throws {
        let buffer = PipelineBuffer(capacity: 2)
        let consumer = Task { try await buffer.next() }
        buffer.finish()
        #expect(try await consumer.value.isEmpty)
    }

    @Test func `cancelled tasks do not wait`() async throws {
        let buffer = PipelineBuffer(capacity: 1)
        _ = try await buffer.reserve(1)
        let producer = Task { _ = try await buffer.reserve(1) }
        producer.cancel()
        let consumer = Task { _ = try await buffer.next() }
        consumer.cancel()
        await #expect(throws: NotifyError.self) { try await producer.value }
        await #expect(throws: NotifyError.self) { try await consumer.value }
    }

    @Test func `outcomes after a cancelled consumer go to the next consumer`() async throws {
        let buffer = PipelineBuffer(capacity: 2)
        _ = try await buffer.reserve(2)
        let consumer = Task { _ = try await buffer.next() }
        consumer.cancel()
        await #expect(throws: NotifyError.self) { try await consumer.value }
        fill(buffer, 0, 1)
        #expect(messages(try await buffer.next()) == ["0", "1"])
    }
}
