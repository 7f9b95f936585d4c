import Testing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(10))) struct MailboxTests {
    private func mailbox(messages: Int? = nil, bytes: Int = .max, limit: Int? = nil) -> Mailbox {
        Mailbox(bounds: messages.map { Mailbox.Bounds(messages: $0, bytes: bytes) }, limit: limit)
    }

    @Test func `batches come out as they went in`() async throws {
        let mailbox = mailbox()
        mailbox.put(.batch(batch([1, 2])))
        mailbox.put(.batch(batch([3])))
        #expect(try await mailbox.next().sequences == [1, 2])
        #expect(try await mailbox.next().sequences == [3])
    }

    @Test(arguments: [1, 2, 3, 4, 5])
    func `beyond the bound the oldest are dropped and told`(bound: Int) async throws {
        let mailbox = mailbox(messages: bound)
        mailbox.put(.batch(batch([1, 2])))
        mailbox.put(.batch(batch([3, 4])))
        let dropped = UInt64(max(0, 4 - bound))
        #expect(mailbox.droppedCount == dropped)
        var gaps: [NotifyClient.Gap] = []
        var sequences: [UInt64] = []
        while sequences.last != 4 {
            let taken = try await mailbox.next()
            gaps += taken.gaps
            sequences += taken.sequences
        }
        #expect(sequences == Array(dropped + 1...4))
        #expect(
            gaps == (dropped == 0 ? [] : [.init(reason: .consumerTooSlow, missed: dropped, sequences: 1...dropped)]))
    }

    @Test func `bytes are bounded too, but one message is always kept`() async throws {
        let mailbox = mailbox(messages: 100, bytes: 1)
        mailbox.put(.batch(batch([1], payload: "long")))
        #expect(mailbox.droppedCount == 0)
        mailbox.put(.batch(batch([2], payload: "longer")))
        let taken = try await mailbox.next()
        #expect(taken.sequences == [2])
        #expect(taken.gaps.map(\.missed) == [1])
    }

    @Test func `gaps stand where they were put, and join where nothing is between`() async throws {
        let mailbox = mailbox()
        mailbox.put(.batch(batch([1])))
        mailbox.put(.gap(.init(reason: .connectionTooSlow, missed: 2, sequences: 2...3)))
        mailbox.put(.gap(.init(reason: .connectionTooSlow, missed: 3, sequences: 4...6)))
        mailbox.put(.batch(batch([7])))
        #expect(try await mailbox.next().sequences == [1])
        let taken = try await mailbox.next()
        #expect(taken.gaps == [.init(reason: .connectionTooSlow, missed: 5, sequences: 2...6)])
        #expect(taken.sequences == [7])
    }

    @Test func `a gap alone wakes the consumer`() async throws {
        let mailbox = mailbox()
        async let taken = mailbox.next()
        mailbox.put(.gap(.init(reason: .reconnected, missed: nil, sequences: nil)))
        #expect(try await taken.gaps.map(\.reason) == [.reconnected])
    }

    @Test func `gaps between dropped batches are kept`() async throws {
        let mailbox = mailbox(messages: 1)
        mailbox.put(.batch(batch([1])))
        mailbox.put(.gap(.init(reason: .reconnected, missed: nil, sequences: nil)))
        mailbox.put(.batch(batch([5])))
        mailbox.put(.batch(batch([6])))
        let taken = try await mailbox.next()
        #expect(Set(taken.gaps.map(\.reason)) == [.consumerTooSlow, .reconnected])
        #expect(taken.sequences == [6])
    }

    @Test func `after the end comes what was before it, then nothing`() async throws {
        let mailbox = mailbox()
        mailbox.put(.batch(batch([1])))
        mailbox.put(.end(NotifyError(.takenOver, "taken over")))
        mailbox.put(.batch(batch([2])))
        #expect(try await mailbox.next().sequences == [1])
        await #expect(throws: NotifyError.self) { try await mailbox.next() }
        await #expect(throws: NotifyError.self) { try await mailbox.next() }
    }

    @Test func `the limit ends it, in the middle of a batch too`() async throws {
        let mailbox = mailbox(limit: 3)
        mailbox.put(.batch(batch([1, 2])))
        mailbox.put(.batch(batch([3, 4])))
        #expect(try await mailbox.next().sequences == [1, 2])
        #expect(try await mailbox.next().sequences == [3])
        #expect(try await mailbox.next().isEmpty)
    }

    @Test func `a cancelled task gets the end, also if it was cancelled before it waited`() async throws {
        let mailbox = mailbox()
        let waiting = Task { try await mailbox.next() }
        waiting.cancel()
        #expect(try await waiting.value.isEmpty)
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await mailbox.next()
        }
        #expect(try await early.value.isEmpty)
        // The next consumer is not disturbed.
        mailbox.put(.batch(batch([1])))
        #expect(try await mailbox.next().sequences == [1])
    }
}
