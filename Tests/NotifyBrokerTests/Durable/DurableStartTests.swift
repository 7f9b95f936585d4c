import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// The start of a durable subscription in the log when it is created.
struct DurableStartTests {
    private static let day: UInt64 = 86_400_000_000

    private func codes(_ client: Client) -> [UInt16] { client.takeErrors().map(\.code) }

    @Test(arguments: 0..<5)
    func `a subscription gets exactly the messages from its start on`(_ index: Int) {
        let (host, sequences, times) = TestHost.withMessages()
        let now = host.now.wallMicroseconds
        let starts: [LogPosition] = [
            .sequence(sequences[index]), .sequence(sequences[index] - 1), .time(microseconds: times[index]),
            .time(microseconds: times[index] - 999_999), .age(microseconds: now - times[index]),
            .age(microseconds: now - times[index] + 999_999),
        ]
        for (number, start) in starts.enumerated() {
            let client = host.connect()
            client.subscribe(1, ["a"], durable: "d\(number)", from: start)
            host.run()
            #expect(client.takeMessages().map(\.sequence) == Array(sequences[index...]), "\(start)")
            host.closed(client)
        }
    }

    @Test(
        arguments: [
            .now, .age(microseconds: 0), .age(microseconds: 999_999), .time(microseconds: 1_700_000_004_000_001),
            .time(microseconds: 1_700_000_005_000_000), .time(microseconds: 1_700_000_005_000_001),
            .sequence(11),
        ] as [LogPosition])
    func `a subscription that starts after the last message gets only later messages`(_ start: LogPosition) {
        let (host, _, _) = TestHost.withMessages()
        #expect(host.nextSequence == 11)
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d", from: start)
        host.run()
        #expect(client.takeMessages().isEmpty)
        client.post("a")
        host.run()
        #expect(client.takeMessages().map(\.sequence) == [11])
    }

    @Test(
        arguments: [
            .oldest, .sequence(1), .time(microseconds: 0), .age(microseconds: Self.day),
            .age(microseconds: LogPosition.maximumMicroseconds),
        ] as [LogPosition])
    func `a subscription that starts before the first message gets all messages`(_ start: LogPosition) {
        let (host, sequences, _) = TestHost.withMessages()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d", from: start)
        host.run()
        #expect(client.takeMessages().map(\.sequence) == sequences)
    }

    @Test(arguments: [12, 1 << 53 - 1])
    func `a sequence beyond the end of the log is refused`(_ sequence: UInt64) {
        let (host, _, _) = TestHost.withMessages()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d", from: .sequence(sequence))
        host.run()
        let errors = client.takeErrors()
        #expect(errors.map(\.code) == [ErrorCode.invalidArgument.rawValue])
        #expect(errors.first?.message.contains("sequence \(sequence) is beyond the end of the log") == true)
        #expect(errors.first?.message.contains("sequence 11 ") == true)
        #expect(host.durables.isEmpty && host.store.subscriptions.isEmpty)
    }

    @Test func `a time in the future is refused as a start and in a search`() {
        let (host, _, _) = TestHost.withMessages()
        let client = host.connect()
        let times = [host.now.wallMicroseconds + 5_000_001, LogPosition.maximumMicroseconds]
        for time in times {
            let position = LogPosition.time(microseconds: time)
            client.subscribe(1, ["a"], durable: "d", from: position)
            client.send(Find(request: client.nextRequest(), position: position))
            host.run()
            let errors = client.takeErrors()
            #expect(errors.map(\.code) == [ErrorCode.invalidArgument.rawValue, ErrorCode.invalidArgument.rawValue])
            #expect(errors.allSatisfy { $0.message == "the time is in the future; the end of the log is 'now'" })
            #expect(host.durables.isEmpty && host.store.subscriptions.isEmpty)
        }
        // An existing subscription continues at its cursor, even if the clock was set back since its creation.
        client.subscribe(1, ["a"], durable: "d", from: .now)
        host.run()
        client.detach(1)
        client.subscribe(2, ["a"], durable: "d", from: .time(microseconds: times[0]))
        host.run()
        #expect(codes(client) == [])
    }

    @Test func `a time slightly in the future needs no search`() {
        let (host, _, _) = TestHost.withMessages()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d", from: .time(microseconds: host.now.wallMicroseconds + 5_000_000))
        #expect(host.durable("d")?.startedAfter == host.lastSequence)
    }

    @Test func `a start at a time comes before messages whose commit is pending`() {
        let (host, sequences, _) = TestHost.withMessages()
        let (poster, client) = (host.connect(), host.connect())
        poster.post("a", .stored)
        client.subscribe(1, ["a"], durable: "d", from: .age(microseconds: 0))
        host.run()
        #expect(client.takeMessages().map(\.sequence) == [(sequences.last ?? 0) + 1])
    }

    @Test(arguments: [.oldest, .sequence(1), .age(microseconds: 1), .time(microseconds: 1)] as [LogPosition])
    func `a volatile subscription can only begin now`(_ start: LogPosition) {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"], from: start)
        host.run()
        #expect(codes(client) == [ErrorCode.unsupported.rawValue])
        client.subscribe(1, ["a"], from: .now)
        host.run()
        #expect(codes(client) == [])
        #expect(host.volatileSubscriptionCount == 1)
    }

    @Test(arguments: [.sequence(.max >> 11), .age(microseconds: 1), .time(microseconds: 1)] as [LogPosition])
    func `an existing subscription continues at its cursor, without a search`(_ start: LogPosition) {
        let (host, sequences, _) = TestHost.withMessages()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d", from: .sequence(sequences[3]))
        host.run()
        client.detach(1)
        host.run()
        _ = client.take()
        client.subscribe(2, ["a"], durable: "d", from: start)
        #expect(host.connection(client).pauses.isEmpty)
        host.run()
        #expect(client.takeMessages().map(\.sequence) == [sequences[3], sequences[4]])
    }
}

extension TestHost {
    /// A host with five stored messages, posted at intervals of one second. The last one was posted a second ago.
    static func withMessages() -> (host: TestHost, sequences: [UInt64], times: [UInt64]) {
        let host = TestHost()
        let poster = host.connect()
        var (sequences, times): ([UInt64], [UInt64]) = ([], [])
        for _ in 0..<5 {
            // The volatile message leaves a hole before the next message in the log.
            poster.post("volatile", .volatile)
            times.append(host.now.wallMicroseconds)
            poster.post("a", .stored)
            sequences.append(host.lastSequence)
            host.run()
            host.advance(.seconds(1))
        }
        host.closed(poster)
        return (host, sequences, times)
    }
}
