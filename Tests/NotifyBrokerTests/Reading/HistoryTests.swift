import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Reading stored messages without a subscription.
struct HistoryTests {
    private struct Answer: Equatable {
        var pages: [LogPage] = []
        var sequences: [UInt64] = []
        var errors: [UInt16] = []
    }

    private func answer(_ client: Client) -> Answer {
        var answer = Answer()
        for received in client.take() {
            switch received {
            case .logPage(let page): answer.pages.append(page)
            case .message(let message): answer.sequences.append(message.sequence)
            case .error(let error): answer.errors.append(error.code)
            default: Issue.record("unexpected \(received)")
            }
        }
        return answer
    }

    private func found(_ client: Client, _ position: LogPosition, _ host: TestHost) -> Found? {
        client.send(Find(request: client.nextRequest(), position: position))
        host.run()
        return client.take().compactMap { if case .found(let found) = $0 { found } else { nil } }.first
    }

    @Test func `pages contain each stored message once, in order`() {
        let (host, sequences, _) = TestHost.withMessages()
        let client = host.connect()
        var after: UInt64 = 0
        var all: [[UInt64]] = []
        var isEnd = false
        while !isEnd, all.count < 5 {
            client.read(["a"], (after + 1)..., maximum: 2)
            host.run()
            let answer = answer(client)
            guard let page = answer.pages.first else { break }
            #expect(page.count == answer.sequences.count)
            (after, isEnd) = (page.through, page.isEnd)
            all.append(answer.sequences)
        }
        #expect(all == [Array(sequences[..<2]), Array(sequences[2..<4]), [sequences[4]]])
        #expect(isEnd && after == host.store.persistedThrough)
        #expect(host.amount(of: .pendingBytes, 1000) == 0)
    }

    @Test func `descending pages begin with the newest message`() {
        let (host, sequences, _) = TestHost.withMessages()
        let client = host.connect()
        client.read(["a"], 1..., maximum: 2, isDescending: true)
        host.run()
        let newest = answer(client)
        #expect(newest.sequences == sequences.suffix(2).reversed())
        #expect(newest.pages.map(\.isEnd) == [false] && newest.pages.first?.through == sequences[3])
        client.read(["a"], sequences[1]...sequences[3] - 1, isDescending: true)
        host.run()
        let rest = answer(client)
        #expect(rest.sequences == sequences[1...2].reversed())
        #expect(rest.pages.map(\.isEnd) == [true])
    }

    @Test func `the next page reports messages that were deleted since the first page`() {
        let (host, sequences, _) = TestHost.withMessages()
        let client = host.connect()
        client.read(["a"], 1..., maximum: 2)
        host.run()
        let first = answer(client)
        let mark = first.pages.first?.deletionMark ?? 0
        #expect(mark > 0 && first.pages.first?.deleted == nil)
        host.core.broker.deleted(host.store.delete { sequences[1...3].contains($0.sequence) }, now: host.now)
        client.read(["a"], (sequences[1] + 1)..., deletionMark: mark)
        client.read(["other"], (sequences[1] + 1)..., deletionMark: mark)
        client.read(["a"], (sequences[1] + 1)...)
        host.run()
        let rest = answer(client)
        #expect(rest.sequences == [sequences[4], sequences[4]])
        let deleted = rest.pages.map { $0.deleted?.range }
        #expect(deleted == [SequenceRange(first: sequences[2], last: sequences[3]), nil, nil])
        #expect(rest.pages.first?.deletionMark == mark)
    }

    @Test func `a waiting request reports a message that was deleted before it was read`() {
        let (host, _, _) = TestHost.withMessages()
        let (client, poster) = (host.connect(), host.connect())
        client.read(["a"], (host.lastSequence + 1)..., isWaiting: true)
        host.run()
        #expect(answer(client) == Answer())
        poster.post("a", .stored)
        host.runTicks()
        // The commit requests the page, and the message is deleted before the page is read.
        while case .commit? = host.store.jobs.first { host.work() }
        host.core.broker.deleted(host.store.delete { $0.sequence == host.lastSequence }, now: host.now)
        host.run()
        let pages = answer(client).pages
        #expect(pages.map(\.count) == [0] && pages.map { $0.deleted?.messages } == [1])
    }

    @Test func `a page is limited to its range and its object`() {
        let host = TestHost()
        let (poster, client) = (host.connect(), host.connect())
        for index in 0..<6 { poster.post("a", object: index.isMultiple(of: 2) ? "even" : "odd", .stored) }
        host.run()
        let first = host.lastSequence - 5
        client.read(["a"], first + 1...first + 4, object: "even")
        host.run()
        let answer = answer(client)
        #expect(answer.sequences == [first + 2, first + 4])
        #expect(answer.pages.first?.isEnd == true && answer.pages.first?.through == first + 4)
    }

    @Test func `names that a client may not receive are left out or refused`() {
        let host = TestHost()
        let (owner, stranger) = (host.connect(uid: 1000), host.connect(uid: 2000))
        owner.post("user.1000.x", .stored)
        owner.post("open", .stored)
        host.run()
        let last = host.lastSequence
        _ = owner.take()
        for (client, expected) in [(owner, [last - 1, last]), (stranger, [last])] {
            client.read([">"], 1...)
            host.run()
            #expect(answer(client).sequences == expected)
        }
        stranger.read(["user.1000.>"], 1...)
        host.run()
        #expect(answer(stranger).errors == [ErrorCode.forbidden.rawValue])
    }

    @Test func `a page that was read under an earlier policy is read again`() {
        let host = TestHost()
        let (poster, client) = (host.connect(), host.connect())
        poster.post("a", .stored)
        host.run()
        client.read([">"], 1...)
        host.runTicks()
        host.core.broker.policyChanged(
            to: AccessPolicy(generation: 1, rules: [AccessRule(.deny, [.subscribe], names: ["a"])]))
        host.run()
        let answer = answer(client)
        #expect(answer.sequences.isEmpty && answer.pages.count == 1)
    }

    @Test func `a waiting request is answered when a matching message is stored`() {
        let host = TestHost()
        let (poster, client) = (host.connect(), host.connect())
        poster.post("a", .stored)
        host.run()
        let last = host.lastSequence
        client.read(["a"], (last + 1)..., isWaiting: true)
        host.run()
        for name in ["b", "c"] {
            poster.post(name, .stored)
            poster.post("a", .volatile)
            host.run()
        }
        #expect(answer(client) == Answer())
        poster.post("a", .stored)
        host.run()
        let answer = answer(client)
        #expect(answer.sequences == [host.lastSequence])
        #expect(answer.pages.map(\.through) == [host.lastSequence])
    }

    @Test func `a read up to a volatile message ends, although nothing is stored there`() {
        let host = TestHost()
        let (poster, client) = (host.connect(), host.connect())
        poster.post("a", .stored)
        host.run()
        for _ in 0..<2 { poster.post("a", .volatile) }
        host.run()
        client.read(["a"], 1...host.lastSequence, awaitsPending: true)
        host.run()
        let answer = answer(client)
        #expect(answer.sequences.count == 1)
        #expect(answer.pages.map(\.isEnd) == [true] && answer.pages.first?.through == host.lastSequence)
    }

    @Test(arguments: [nil, StorageFailure.broken])
    func `a read waits for messages that are being stored, but not for later ones`(_ failure: StorageFailure?) {
        let host = TestHost()
        let (poster, client) = (host.connect(), host.connect())
        // The first request of the store is the commit. The page waits for it.
        poster.post("a", .stored)
        host.runTicks()
        let last = host.lastSequence
        client.read(["a"], 1..., awaitsPending: true)
        host.runTicks()
        #expect(answer(client) == Answer())
        poster.post("a", .stored)
        host.runTicks()
        if failure != nil { host.work(failingWith: .broken) }
        host.run()
        let answer = answer(client)
        #expect(answer.sequences == (failure == nil ? [last] : []))
        #expect(answer.pages.map(\.isEnd) == [true] && answer.pages.map(\.through) == [last])
        #expect(host.amount(of: .pendingBytes, 1000) == 0)
    }

    @Test func `a waiting request is answered once when the client ends it`() {
        let host = TestHost()
        let client = host.connect()
        let request = client.read(["a"], 1..., isWaiting: true)
        host.run()
        for _ in 0..<2 { client.send(EndRead(request: request)) }
        client.send(EndRead(request: 99))
        host.run()
        let answer = answer(client)
        #expect(answer.pages.map(\.request) == [request] && answer.pages.first?.count == 0)
        #expect(host.amount(of: .pendingBytes, 1000) == 0)
    }

    @Test func `the unanswered requests of a connection are limited, and end with it`() {
        let host = TestHost()
        let (client, other) = (host.connect(), host.connect())
        for _ in 0..<Limits.logReadsPerConnection { client.read(["a"], 1..., isWaiting: true) }
        host.run()
        #expect(answer(client) == Answer())
        client.read(["a"], 1..., isWaiting: true)
        other.read(["a"], 1...)
        host.run()
        #expect(answer(client).errors == [ErrorCode.limitReached.rawValue])
        #expect(answer(other).pages.count == 1)
        host.closed(client)
        #expect(host.amount(of: .pendingBytes, 1000) == 0)
        other.post("a", .stored)
        host.run()
    }

    @Test func `damaged messages are reported with the page`() {
        let (host, sequences, _) = TestHost.withMessages()
        host.store.damaged = [sequences[1], sequences[3]]
        let client = host.connect()
        client.read(["a"], 1...)
        host.run()
        let answer = answer(client)
        #expect(answer.sequences == [sequences[0], sequences[2], sequences[4]])
        #expect(answer.pages.first?.damaged == 2)
        #expect(answer.pages.first?.damagedRange == SequenceRange(first: sequences[1], last: sequences[3]))
        #expect(host.counter("damaged_messages") == 2)
    }

    @Test func `a page that can't be read is refused`() {
        let (host, _, _) = TestHost.withMessages()
        let client = host.connect()
        client.read(["a"], 1...)
        host.runTicks()
        host.work(failingWith: .broken)
        host.run()
        #expect(answer(client).errors == [ErrorCode.storageFailed.rawValue])
    }

    @Test func `a connection without room gets its page later, and delays no other one`() {
        var configuration = BrokerConfiguration()
        configuration.durableOutboxBytes = 64
        let host = TestHost(configuration)
        let (poster, slow, fast) = (host.connect(), host.connect(), host.connect())
        for _ in 0..<3 { poster.post("a", payload: [UInt8](repeating: 1, count: 100), .stored) }
        host.run()
        slow.stopTaking()
        for _ in 0..<2 {
            slow.read(["a"], 1..., maximum: 1)
            host.run()
        }
        fast.read(["a"], 1...)
        host.run()
        #expect(answer(fast).sequences.count == 3)
        slow.makeRoom()
        host.run()
        #expect(answer(slow).sequences.count == 2)
    }

    @Test func `a request to find a position is answered with the sequence`() {
        let (host, sequences, times) = TestHost.withMessages()
        let client = host.connect()
        let last = host.store.persistedThrough
        let cases: [(LogPosition, UInt64)] = [
            (.oldest, 1), (.now, host.lastSequence + 1), (.sequence(2), 2),
            (.time(microseconds: times[2]), sequences[2]),
            (.time(microseconds: host.now.wallMicroseconds), host.lastSequence + 1),
        ]
        for (position, expected) in cases {
            let found = found(client, position, host)
            #expect(found?.sequence == expected && found?.last == last, "\(position)")
        }
        client.send(Find(request: client.nextRequest(), position: .sequence(host.lastSequence + 2)))
        host.run()
        #expect(answer(client).errors == [ErrorCode.invalidArgument.rawValue])
    }
}

extension Client {
    @discardableResult
    func read(
        _ patterns: [String], _ range: some RangeExpression<UInt64>, maximum: UInt32 = 100, isWaiting: Bool = false,
        awaitsPending: Bool = false, isDescending: Bool = false, object: String = "", deletionMark: UInt64 = 0
    ) -> UInt64 {
        let request = nextRequest()
        let range = range.relative(to: 0..<UInt64.max)
        send(
            ReadLog(
                request: request, first: range.lowerBound, last: range.upperBound == .max ? .max : range.upperBound - 1,
                deletionMark: deletionMark, maximumMessages: maximum, isWaiting: isWaiting,
                awaitsPending: awaitsPending,
                isDescending: isDescending, object: object, patterns: patterns))
        return request
    }
}
