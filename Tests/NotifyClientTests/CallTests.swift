import NotifyWire
import Testing

@testable import NotifyClient

/// What becomes of each kind of request that the daemon does not answer.
@Suite struct CallTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let makeCall: @Sendable () -> Call
        /// The error if the connection is lost.
        let loss: NotifyError.Code
        let limit: Call.TimeLimit

        init(
            _ description: String, _ call: @autoclosure @escaping @Sendable () -> Call, _ loss: NotifyError.Code,
            _ limit: Call.TimeLimit
        ) {
            (testDescription, makeCall, self.loss, self.limit) = (description, call, loss, limit)
        }
    }

    static let cases: [Case] = {
        let read = ReadLog(
            request: 0, first: 1, last: 1, maximumMessages: 1, isWaiting: false, object: "", patterns: ["a"])
        let waiting = ReadLog(
            request: 0, first: 1, last: 1, maximumMessages: 1, isWaiting: true, object: "", patterns: ["a"])
        let summary = SummarizeLog(request: 0, first: 1, last: 1, maximumNames: 1, patterns: ["a"])
        let describe = try? DurableRequest(.describe, "d", uid: nil)
        let reset = try? DurableRequest(.reset(.oldest), "d", uid: nil)
        return [
            Case("list", .list(.subject(.clients), ReplySlot(), entries: []), .connectionLost, .answer),
            Case("monitor", .list(.monitor(patterns: ["a"]), ReplySlot(), entries: []), .connectionLost, .answer),
            Case("trace", .list(.trace(sequence: 1), ReplySlot(), entries: []), .connectionLost, .answer),
            Case("summary", .list(.summary(summary), ReplySlot(), entries: []), .connectionLost, .silence),
            Case("log", .log(read, ReplySlot(), page: nil), .connectionLost, .answer),
            Case("follow", .log(waiting, ReplySlot(), page: nil), .connectionLost, .none),
            Case("find", .find(.oldest, ReplySlot()), .connectionLost, .answer),
            Case("remove", .remove(name: "d", uid: 0, endsMembers: false, ReplySlot()), .outcomeUnknown, .answer),
            Case("purge", .purge(Purge(request: 0, patterns: ["a"]), ReplySlot()), .outcomeUnknown, .silence),
            Case("retry", .deadLetters(.init(request: 0, action: .retry), ReplySlot()), .outcomeUnknown, .silence),
            Case("ping", .ping(ReplySlot()), .connectionLost, .answer),
            Case("statistics", .statistics(ReplySlot()), .connectionLost, .answer),
            Case("limits", .limits(ReplySlot()), .connectionLost, .answer),
            Case("reload", .reload(ReplySlot()), .outcomeUnknown, .silence),
            Case("backup", .backup(.init(device: 0, inode: 0, name: "b"), ReplySlot()), .connectionLost, .silence),
            Case("chunk", .backupChunk(offset: 0, ReplySlot()), .connectionLost, .answer),
            Case("check", .check(isFull: true, ReplySlot(), progress: { _ in }), .connectionLost, .silence),
            Case(
                "policy", .policy(.init(right: .post, name: "a", subject: .init(uid: 0, gid: 0)), ReplySlot()),
                .connectionLost,
                .answer),
        ]
            + [
                describe.map { Case("describe", .durable($0, ReplySlot()), .connectionLost, .answer) },
                reset.map { Case("reset", .durable($0, ReplySlot()), .outcomeUnknown, .answer) },
            ].compactMap(\.self)
    }()

    @Test(arguments: cases) func `an unanswered request has the right error`(of kind: Case) {
        let call = kind.makeCall()
        #expect(call.lossError.code == kind.loss)
        let code = call.timeoutError(after: .seconds(1)).code
        #expect(code == (kind.loss == .outcomeUnknown ? .outcomeUnknown : .timedOut))
        #expect(call.timeLimit == kind.limit)
    }

    /// Lets time pass, while the daemon answers no request, or none but pings.
    @Test(arguments: cases, [false, true])
    func `an unanswered request ends as its kind says`(of kind: Case, pinged: Bool) throws {
        var configuration = NotificationClient.Configuration.manual
        configuration.requestTimeout = .seconds(8)
        let harness = try MachineHarness.ready(configuration)
        let call = kind.makeCall()
        harness.process { [now = harness.now] in $0.call(call, now: now, &$1) }
        for _ in 0..<400 {
            harness.advance(by: .milliseconds(100))
            // The request itself, if it is a ping, is not answered.
            for frame in try harness.read() where pinged && frame.kind == .ping {
                let ping: NotifyWire.Ping = try frame.read()
                if ping.request > 1 { harness.receive { Pong(request: ping.request).write(to: &$0) } }
            }
        }
        #expect(call.slot.isAnswered == (kind.limit == .answer || kind.limit == .silence && !pinged))
    }
}
