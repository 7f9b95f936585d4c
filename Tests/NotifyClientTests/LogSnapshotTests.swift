import NIOCore
import NotifyWire
import Testing

@testable import NotifyClient

/// Volatile subscriptions that begin with stored messages.
@Suite(.timeLimit(.minutes(25))) struct LogSnapshotTests {
    private func buffer(
        _ first: UInt64, _ last: UInt64, bound: Int = 100, limit: Int? = nil, reportsEarlierDeletions: Bool = false
    ) -> DeliveryBuffer {
        let buffer = DeliveryBuffer(policy: .dropOldest(.init(messages: bound, bytes: .max)), limit: limit)
        buffer.put(
            .logSnapshotBegan(SequenceRange(first: first, last: last), reportsEarlierDeletions: reportsEarlierDeletions)
        )
        return buffer
    }

    /// Answers the next request of a buffer with these messages.
    private func page(
        _ sequences: [UInt64], through: UInt64, isEnd: Bool = false, damaged: UInt64 = 0, to buffer: DeliveryBuffer
    ) throws {
        let range = try #require(buffer.rangeToRead()).range
        var page = ReceivedLogPage(
            LogPage(
                request: 1, count: UInt32(sequences.count), isEnd: isEnd, through: through, damaged: damaged,
                damagedRange: SequenceRange(first: through, last: through)))
        if !sequences.isEmpty { page.append(batch(sequences)) }
        buffer.put(.page(page, of: range))
    }

    @Test func `a snapshot from a sequence reports all known deletions`() throws {
        let all = buffer(5, 9, reportsEarlierDeletions: true)
        #expect(all.rangeToRead()?.deletionMark == ReadLog.allDeletions)
        try page([], through: 7, to: all)
        #expect(all.rangeToRead()?.deletionMark == ReadLog.allDeletions)
        #expect(buffer(5, 9).rangeToRead()?.deletionMark == 0)
    }

    @Test func `live messages follow the messages of the log`() async throws {
        let buffer = buffer(1, 9)
        buffer.put(.batch(batch([10, 11])))
        #expect(buffer.rangeToRead()?.range == SequenceRange(first: 1, last: 9))
        try page([2, 3], through: 5, to: buffer)
        // The next page is requested once the messages before it were taken.
        #expect(buffer.rangeToRead() == nil)
        #expect(try await buffer.next().sequences == [2, 3])
        #expect(buffer.rangeToRead()?.range == SequenceRange(first: 6, last: 9))
        try page([8], through: 9, isEnd: true, to: buffer)
        buffer.put(.batch(batch([12])))
        #expect(try await buffer.next().sequences == [8])
        #expect(buffer.rangeToRead() == nil)
        #expect(try await buffer.next().sequences == [10, 11])
        #expect(try await buffer.next().sequences == [12])
    }

    @Test func `a snapshot without messages, or of an empty range, releases the live messages`() async throws {
        let empty = buffer(10, 9)
        empty.put(.batch(batch([10])))
        #expect(empty.rangeToRead() == nil)
        #expect(try await empty.next().sequences == [10])
        let other = buffer(1, 9)
        other.put(.batch(batch([10])))
        try page([], through: 3, isEnd: true, to: other)
        #expect(other.rangeToRead() == nil)
        #expect(try await other.next().sequences == [10])
    }

    @Test func `a gap takes the place of damaged messages`() async throws {
        let buffer = buffer(1, 9)
        try page([2], through: 5, damaged: 1, to: buffer)
        let taken = try await buffer.next()
        #expect(taken.gaps.map(\.reason) == [.damaged] && taken.sequences == [2])
    }

    @Test func `live messages without room are read from the log`() async throws {
        let buffer = buffer(1, 9, bound: 2)
        for sequence: UInt64 in 10...15 { buffer.put(.batch(batch([sequence]))) }
        #expect(buffer.rangeToRead()?.range == SequenceRange(first: 1, last: 13))
        try page([2], through: 9, to: buffer)
        #expect(try await buffer.next().sequences == [2])
        buffer.put(.batch(batch([16])))
        #expect(buffer.rangeToRead()?.range == SequenceRange(first: 10, last: 14))
        try page([10, 11, 12, 13, 14], through: 14, isEnd: true, to: buffer)
        #expect(try await buffer.next().sequences == [10, 11, 12, 13, 14])
        #expect(buffer.rangeToRead() == nil)
        let taken = try await buffer.next()
        #expect(taken.gaps.isEmpty && taken.sequences == [15])
        #expect(try await buffer.next().sequences == [16])
        #expect(buffer.droppedCount == 0)
    }

    @Test func `a gap reports live messages that had no room and are not stored`() async throws {
        let buffer = buffer(1, 9, bound: 1)
        for sequence: UInt64 in 10...13 { buffer.put(.batch(batch([sequence]))) }
        try page([2, 11], through: 12, isEnd: true, to: buffer)
        #expect(try await buffer.next().sequences == [2, 11])
        #expect(buffer.rangeToRead() == nil)
        let taken = try await buffer.next()
        #expect(taken.gaps == [.init(reason: .consumerTooSlow, missed: 2, sequences: 10...12)])
        #expect(taken.sequences == [13])
        #expect(buffer.droppedCount == 2 && buffer.takeUnreportedDrops() == 2)
    }

    @Test func `messages that the daemon dropped, and live ones before them, are read from the log`() async throws {
        let buffer = buffer(1, 9)
        buffer.put(.batch(batch([10])))
        buffer.put(.gap(.init(reason: .connectionTooSlow, missed: 3, sequences: 11...14)))
        buffer.put(.batch(batch([15])))
        #expect(buffer.rangeToRead()?.range == SequenceRange(first: 1, last: 14))
        try page([2, 10, 11, 13, 14], through: 14, isEnd: true, to: buffer)
        #expect(try await buffer.next().sequences == [2, 10, 11, 13, 14])
        #expect(buffer.rangeToRead() == nil)
        let taken = try await buffer.next()
        #expect(taken.gaps.isEmpty && taken.sequences == [15])
    }

    @Test func `a gap reports messages that the daemon has dropped and that are not stored`() async throws {
        let buffer = buffer(1, 9)
        buffer.put(.batch(batch([10])))
        buffer.put(.gap(.init(reason: .connectionTooSlow, missed: 3, sequences: 11...14)))
        buffer.put(.batch(batch([15])))
        try page([10, 13], through: 14, isEnd: true, to: buffer)
        #expect(try await buffer.next().sequences == [10, 13])
        #expect(buffer.rangeToRead() == nil)
        let taken = try await buffer.next()
        #expect(taken.gaps == [.init(reason: .connectionTooSlow, missed: 2, sequences: 10...14)])
        #expect(taken.sequences == [15] && buffer.droppedCount == 0)
    }

    @Test func `messages without room that arrive while a page is read are requested next`() async throws {
        let buffer = buffer(1, 9, bound: 1)
        let range = try #require(buffer.rangeToRead()).range
        for sequence: UInt64 in 10...11 { buffer.put(.batch(batch([sequence]))) }
        let header = LogPage(request: 1, count: 0, isEnd: true, through: 9)
        buffer.put(.page(ReceivedLogPage(header), of: range))
        #expect(buffer.rangeToRead()?.range == SequenceRange(first: 10, last: 10))
    }

    @Test func `the limit counts messages of the log and live messages`() async throws {
        let buffer = buffer(1, 9, limit: 3)
        #expect(buffer.rangeToRead()?.maximumMessages == 3)
        try page([2, 3], through: 9, isEnd: true, to: buffer)
        buffer.put(.batch(batch([10, 11])))
        #expect(try await buffer.next().sequences == [2, 3])
        #expect(buffer.rangeToRead() == nil)
        #expect(try await buffer.next().sequences == [10])
        #expect(try await buffer.next().isEmpty)
    }

    @Test func `the end of the subscription ends the snapshot`() async throws {
        let buffer = buffer(1, 9)
        try page([2], through: 5, to: buffer)
        buffer.put(.batch(batch([10])))
        buffer.put(.end(nil))
        #expect(try await buffer.next().sequences == [2])
        #expect(buffer.rangeToRead() == nil)
        #expect(try await buffer.next().isEmpty)
    }

    @Test func `a subscription that pauses reading does not pause during its snapshot`() async throws {
        let harness = try MachineHarness.ready()
        var spec = try SubscriptionSpec(
            patterns: [">"], object: nil, kind: .volatile(bufferedMessages: 3, whenFull: .pauseReading), limit: nil)
        spec.snapshotStart = 4
        let one = try harness.subscribe(spec)
        _ = try harness.acceptSubscriptions(after: 10)
        harness.receive { buffer in
            for sequence: UInt64 in 11...16 { buffer.writeDelivery(sequence) }
        }
        #expect(harness.readsConnection)
        #expect(one.buffer.rangeToRead()?.range == SequenceRange(first: 4, last: 13))
    }

    // MARK: Over a connection

    private func sendPage(
        _ read: ReadLog, _ sequences: [UInt64], through: UInt64, isEnd: Bool, over connection: FakeConnection
    ) {
        connection.send { buffer in
            LogPage(request: read.request, count: UInt32(sequences.count), isEnd: isEnd, through: through)
                .write(to: &buffer)
            for sequence in sequences { buffer.writeDelivery(sequence) }
        }
    }

    /// The sequences of the next messages, and 0 for gaps.
    private func take(_ count: Int, from iterator: inout NotificationClient.Subscription.Iterator) async throws
        -> [UInt64]
    {
        var seen: [UInt64] = []
        while seen.count < count, let event = try await iterator.next() {
            switch event {
            case .message(let message): seen.append(message.sequence)
            case .gap: seen.append(0)
            }
        }
        return seen
    }

    @Test func `a lost connection does not repeat the snapshot`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let served: Void = {
                    let first = try await daemon.accept()
                    let find: Find = try await first.expect()
                    #expect(find.position == .oldest)
                    first.send(Found(request: find.request, sequence: 1, last: 8))
                    let subscribe = try await first.acceptSubscription(after: 9)
                    #expect(subscribe.start == .now)
                    let read: ReadLog = try await first.expect()
                    #expect(read.first == 1 && read.last == 9 && read.awaitsPending && !read.isWaiting)
                    first.send { $0.writeDelivery(10) }
                    sendPage(read, [1, 2], through: 4, isEnd: false, over: first)
                    let cut: ReadLog = try await first.expect()
                    #expect(cut.first == 5)
                    try await first.close()

                    let second = try await daemon.accept()
                    _ = try await second.acceptSubscription(after: 12)
                    let again: ReadLog = try await second.expect()
                    #expect(again.first == 5 && again.last == 9)
                    second.send { $0.writeDelivery(13) }
                    sendPage(again, [6], through: 9, isEnd: true, over: second)
                    try await second.expectDetach()
                }()
                let subscription = try await client.subscribe(to: ["a.b"], as: .volatile(from: .oldest))
                var iterator = subscription.makeAsyncIterator()
                #expect(try await take(6, from: &iterator) == [1, 2, 6, 10, 0, 13])
                try await subscription.leave()
                try await served
            }
        }
    }

    @Test func `a page that does not arrive in time is requested again`() async throws {
        try await FakeDaemon.run { daemon in
            let clock = SteppingClock()
            var configuration = NotificationClient.Configuration.test(daemon.path)
            configuration.requestTimeout = .seconds(8)
            configuration.clock = clock
            let client = NotificationClient(configuration: configuration)
            client.core.start()
            async let served: Void = {
                let connection = try await daemon.accept()
                let find: Find = try await connection.expect()
                connection.send(Found(request: find.request, sequence: 1, last: 8))
                try await connection.acceptSubscription(after: 9)
                let late: ReadLog = try await connection.expect()
                for _ in 0..<10 { clock.advance(by: .seconds(1)) }
                let again: ReadLog = try await connection.expect()
                #expect(again.first == late.first && again.request > late.request)
                sendPage(late, [1, 2], through: 9, isEnd: true, over: connection)
                sendPage(again, [1, 2], through: 9, isEnd: true, over: connection)
                try await connection.expectDetach()
            }()
            let subscription = try await client.subscribe(to: ["a.b"], as: .volatile(from: .oldest))
            var iterator = subscription.makeAsyncIterator()
            #expect(try await take(2, from: &iterator) == [1, 2])
            try await subscription.leave()
            try await served
            await client.stop()
        }
    }

    @Test func `a refused page ends the subscription with its error`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let served: Void = {
                    let connection = try await daemon.accept()
                    let find: Find = try await connection.expect()
                    connection.send(Found(request: find.request, sequence: 1, last: 8))
                    try await connection.acceptSubscription(after: 9)
                    let read: ReadLog = try await connection.expect()
                    connection.send(ErrorFrame(request: read.request, code: .storageFailed, message: "broken"))
                }()
                let subscription = try await client.subscribe(to: ["a.b"], as: .volatile(from: .oldest))
                var iterator = subscription.makeAsyncIterator()
                let error = await #expect(throws: NotifyError.self) { try await iterator.next() }
                #expect(error?.code == .storageFailed)
                try await served
            }
        }
    }

    @Test func `a cancelled task ends its request, and the next task continues the snapshot`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                let accepted = Task { try await daemon.accept() }
                let opening = Task {
                    try await client.subscribe(to: ["a.b"], as: .volatile(from: .sequence(3)))
                }
                let connection = try await accepted.value
                let find: Find = try await connection.expect()
                connection.send(Found(request: find.request, sequence: 3, last: 8))
                try await connection.acceptSubscription(after: 9)
                let subscription = try await opening.value
                let reading = Task {
                    var iterator = subscription.makeAsyncIterator()
                    return try await iterator.next() == nil
                }
                let read: ReadLog = try await connection.expect()
                reading.cancel()
                let end: EndRead = try await connection.expect()
                #expect(end.request == read.request)
                #expect(try await reading.value)
                sendPage(read, [], through: 2, isEnd: false, over: connection)
                async let again: ReadLog = connection.expect()
                async let event = {
                    var iterator = subscription.makeAsyncIterator()
                    return try await take(1, from: &iterator)
                }()
                #expect(try await again.first == 3)
                sendPage(try await again, [7], through: 9, isEnd: true, over: connection)
                #expect(try await event == [7])
            }
        }
    }
}
