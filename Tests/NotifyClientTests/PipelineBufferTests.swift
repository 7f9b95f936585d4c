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

    private func message(_ name: String = "a", bytes: Int = 1) throws -> NotificationClient.OutgoingMessage {
        try NotificationClient.OutgoingMessage(name: name, payload: [UInt8](repeating: 7, count: bytes))
    }

    @Test func `staged posts are announced once, and taken in order`() async throws {
        let buffer = PipelineBuffer(capacity: 200)
        #expect(try await buffer.stage(message("a")) == .first)
        #expect(try await buffer.reserve(2) == (1, 2))
        #expect(try await buffer.stage(message("b")) == .added)
        let staged = buffer.takeStaged()
        #expect(staged.map(\.index) == [0, 3] && staged.map(\.message.name) == ["a", "b"])
        #expect(buffer.takeStaged().isEmpty)
        #expect(try await buffer.stage(message()) == .first)
    }

    @Test func `staged posts are taken after 64 posts or 16 KiB`() async throws {
        let buffer = PipelineBuffer(capacity: 200)
        for index in 0..<63 { #expect(try await buffer.stage(message()) == (index == 0 ? .first : .added)) }
        #expect(try await buffer.stage(message()) == .full)
        _ = buffer.takeStaged()
        #expect(try await buffer.stage(message(bytes: 10_000)) == .first)
        #expect(try await buffer.stage(message(bytes: 10_000)) == .full)
    }

    @Test func `staging waits for room`() async throws {
        let buffer = PipelineBuffer(capacity: 1)
        #expect(try await buffer.stage(message("a")) == .first)
        async let second = buffer.stage(message("b"))
        fill(buffer, 0)
        #expect(messages([try #require(try await buffer.nextOutcome())]) == ["0"])
        #expect(try await second == .added)
    }

    @Test(arguments: [1, 2, 8, 16, 100])
    func `there is room for the whole capacity, also for a task that reads outcomes one by one`(
        capacity: Int
    ) async throws {
        let buffer = PipelineBuffer(capacity: capacity)
        #expect(try await buffer.reserve(1000) == (0, capacity))
        for index in 0..<UInt64(capacity) { fill(buffer, index) }
        var posted = UInt64(capacity)
        for index in 0..<300 {
            #expect(messages([try #require(try await buffer.nextOutcome())]) == ["\(index)"])
            guard UInt64(index + 1 + capacity) > posted else { continue }
            let (first, count) = try await buffer.reserve(1000)
            for index in first..<first + UInt64(count) { fill(buffer, index) }
            posted += UInt64(count)
        }
    }

    @Test func `a batch begins with the outcomes that were taken and not read`() async throws {
        let buffer = PipelineBuffer(capacity: 16)
        _ = try await buffer.reserve(3)
        fill(buffer, 0, 1, 2)
        #expect(messages([try #require(try await buffer.nextOutcome())]) == ["0"])
        #expect(messages(try await buffer.next()) == ["1"])
        #expect(messages(try await buffer.next()) == ["2"])
    }
}
