import Testing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(25))) struct DeliveryBufferTests {
    private func buffer(messages: Int? = nil, bytes: Int = .max, limit: Int? = nil) -> DeliveryBuffer {
        DeliveryBuffer(
            policy: messages.map { .dropOldest(.init(messages: $0, bytes: bytes)) } ?? .windowed, limit: limit)
    }

    @Test func `batches are taken in order`() async throws {
        let buffer = buffer()
        buffer.put(.batch(batch([1, 2])))
        buffer.put(.batch(batch([3])))
        #expect(try await buffer.next().sequences == [1, 2])
        #expect(try await buffer.next().sequences == [3])
    }

    @Test(arguments: [1, 2, 3, 4, 5])
    func `above the limit the oldest messages are dropped with a gap`(bound: Int) async throws {
        let buffer = buffer(messages: bound)
        buffer.put(.batch(batch([1, 2])))
        buffer.put(.batch(batch([3, 4])))
        let dropped = UInt64(max(0, 4 - bound))
        #expect(buffer.droppedCount == dropped)
        var gaps: [NotificationClient.Gap] = []
        var sequences: [UInt64] = []
        while sequences.last != 4 {
            let taken = try await buffer.next()
            gaps += taken.gaps
            sequences += taken.sequences
        }
        #expect(sequences == Array(dropped + 1...4))
        #expect(
            gaps == (dropped == 0 ? [] : [.init(reason: .consumerTooSlow, missed: dropped, sequences: 1...dropped)]))
    }

    @Test func `bytes are limited, but one message is always kept`() async throws {
        let buffer = buffer(messages: 100, bytes: 1)
        buffer.put(.batch(batch([1], payload: "long")))
        #expect(buffer.droppedCount == 0)
        buffer.put(.batch(batch([2], payload: "longer")))
        let taken = try await buffer.next()
        #expect(taken.sequences == [2])
        #expect(taken.gaps.map(\.missed) == [1])
    }

    @Test func `gaps keep their position and adjacent gaps are joined`() async throws {
        let buffer = buffer()
        buffer.put(.batch(batch([1])))
        buffer.put(.gap(.init(reason: .connectionTooSlow, missed: 2, sequences: 2...3)))
        buffer.put(.gap(.init(reason: .connectionTooSlow, missed: 3, sequences: 4...6)))
        buffer.put(.batch(batch([7])))
        #expect(try await buffer.next().sequences == [1])
        let taken = try await buffer.next()
        #expect(taken.gaps == [.init(reason: .connectionTooSlow, missed: 5, sequences: 2...6)])
        #expect(taken.sequences == [7])
    }

    @Test func `a gap wakes the consumer`() async throws {
        let buffer = buffer()
        async let taken = buffer.next()
        buffer.put(.gap(.init(reason: .reconnected, missed: nil, sequences: nil)))
        #expect(try await taken.gaps.map(\.reason) == [.reconnected])
    }

    @Test func `gaps between dropped batches are kept`() async throws {
        let buffer = buffer(messages: 1)
        buffer.put(.batch(batch([1])))
        buffer.put(.gap(.init(reason: .reconnected, missed: nil, sequences: nil)))
        buffer.put(.batch(batch([5])))
        buffer.put(.batch(batch([6])))
        let taken = try await buffer.next()
        #expect(Set(taken.gaps.map(\.reason)) == [.consumerTooSlow, .reconnected])
        #expect(taken.sequences == [6])
    }

    @Test func `earlier messages precede the end, and later ones are discarded`() async throws {
        let buffer = buffer()
        buffer.put(.batch(batch([1])))
        buffer.put(.end(NotifyError(.takenOver, "taken over")))
        buffer.put(.batch(batch([2])))
        #expect(try await buffer.next().sequences == [1])
        await #expect(throws: NotifyError.self) { try await buffer.next() }
        await #expect(throws: NotifyError.self) { try await buffer.next() }
    }

    @Test func `the limit ends the buffer, even within a batch`() async throws {
        let buffer = buffer(limit: 3)
        buffer.put(.batch(batch([1, 2])))
        buffer.put(.batch(batch([3, 4])))
        #expect(try await buffer.next().sequences == [1, 2])
        #expect(try await buffer.next().sequences == [3])
        #expect(try await buffer.next().isEmpty)
    }

    @Test func `a cancelled task gets the end, even if it is cancelled before it waits`() async throws {
        let buffer = buffer()
        let waiting = Task { try await buffer.next() }
        waiting.cancel()
        #expect(try await waiting.value.isEmpty)
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await buffer.next()
        }
        #expect(try await early.value.isEmpty)
        // The next consumer is not affected.
        buffer.put(.batch(batch([1])))
        #expect(try await buffer.next().sequences == [1])
    }
}
