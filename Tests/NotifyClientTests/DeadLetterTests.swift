import Foundation
import NIOCore
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyClient

@Suite(.timeLimit(.minutes(25))) struct DeadLetterTests {
    /// Appends the dead letter of a message "job" with the object "o" and the header "k".
    private static func write(_ sequence: UInt64, reason: String, to buffer: inout ByteBuffer) throws {
        let stamp = Stamp(sequence: sequence - 100, timeMicroseconds: 2_500_000, uid: 7, gid: 8, pid: 9)
        let own = try HeaderList.encode([("k", "v")])
        let headers = withParts(name: "job", object: "o", headers: own) {
            DeadLetterHeaders(Delivery(stamp, $0), deliveries: 5, reason: reason).encoded(after: $0.headers)
        }
        buffer.writeDelivery(sequence, "notifyd.dead.0", object: "d", headers: headers, payload: "work")
    }

    @Test func `dead letters have the message, the count and the reason`() async throws {
        try await FakeDaemon.run { daemon in
            async let served: ReadLog = {
                let connection = try await daemon.accept()
                // A ping comes first, unless the client has already received the welcome with its uid.
                var frame = try #require(try await connection.next())
                if frame.kind == .ping { frame = try #require(try await connection.next()) }
                let find: Find = try frame.read()
                connection.send(Found(request: find.request, sequence: 1, last: 200))
                let read: ReadLog = try await connection.expect()
                var buffer = ByteBuffer()
                LogPage(
                    request: read.request, count: 3, isEnd: true, through: 200, damaged: 1,
                    damagedRange: SequenceRange(first: 150, last: 150)
                ).write(to: &buffer)
                try Self.write(101, reason: "exit 1", to: &buffer)
                buffer.writeDelivery(102, "notifyd.dead.0", payload: "no dead letter")
                try Self.write(103, reason: "", to: &buffer)
                connection.send { [buffer] in $0.writeImmutableBuffer(buffer) }
                return read
            }()
            let letters = try await withNotificationClient(configuration: .test(daemon.path)) { client in
                var letters: [NotificationClient.Administration.DeadLetter] = []
                for try await letter in try await client.administration.deadLetters(of: "d") { letters.append(letter) }
                return letters
            }
            let read = try await served
            #expect(read.patterns == ["notifyd.dead.0"] && read.object == "d")
            #expect(letters.map(\.sequence) == [101, 103])
            #expect(letters.map(\.reason) == ["exit 1", nil])
            let first = try #require(letters.first)
            #expect(first.durableName == "d" && first.deliveries == 5)
            #expect(first.name == "job" && first.object == "o" && first.originalSequence == 1)
            #expect(first.originalDate.timeIntervalSince1970 == 2.5)
            #expect(first.uid == 7 && first.gid == 8 && first.pid == 9)
            #expect(first.headers.map(\.key) == ["k"] && first.headers["k"] == "v")
            #expect(first.text == "work" && first.payload == Array("work".utf8))
        }
    }

    @Test func `requests name dead letters in order, as many as fit into each frame`() async throws {
        try await FakeDaemon.run { daemon in
            async let served: [DeadLetters] = {
                let connection = try await daemon.accept()
                var requests: [DeadLetters] = []
                for _ in 0..<4 {
                    let request: DeadLetters = try await connection.expect()
                    requests.append(request)
                    let count = UInt64(max(1, request.sequences.count))
                    connection.send(DeadLettersDone(request: request.request, messages: count - 1, kept: 1))
                }
                return requests
            }()
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                let many = Array((1...1_025).reversed()) as [UInt64]
                let results = [
                    try await client.administration.retryDeadLetters(),
                    try await client.administration.purgeDeadLetters(of: "d", sequences: [9, 3, 9], uid: 5),
                    try await client.administration.retryDeadLetters(of: "d", sequences: many),
                    try await client.administration.retryDeadLetters(of: "d", sequences: []),
                ]
                #expect(results.map(\.messages) == [0, 1, 1_023, 0] && results.map(\.kept) == [1, 1, 2, 0])
            }
            let requests = try await served
            #expect(requests.map(\.action) == [.retry, .purge, .retry, .retry])
            #expect(requests.map(\.durableName) == ["", "d", "d", "d"])
            #expect(requests.map(\.uid) == [Remove.ownUID, 5, Remove.ownUID, Remove.ownUID])
            #expect(requests.map(\.sequences) == [[], [3, 9], Array(1...1_024), [1_025]])
        }
    }

    @Test func `bad arguments are refused before they are sent`() async {
        let client = NotificationClient()
        await #expect(throws: NotifyError.self) { _ = try await client.administration.deadLetters(of: "a b") }
        await #expect(throws: NotifyError.self) { try await client.administration.retryDeadLetters(of: "a b") }
        await #expect(throws: NotifyError.self) { try await client.administration.purgeDeadLetters(uid: .max) }
    }
}
