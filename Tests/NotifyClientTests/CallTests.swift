import NotifyWire
import Testing

@testable import NotifyClient

/// The outcome of each kind of request that the daemon does not answer.
@Suite struct CallTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let makeCall: @Sendable () -> any Call
        /// The expected error if the connection is lost.
        let loss: NotifyError.Code
        let time: ReplyTime

        init(
            _ description: String, _ call: @autoclosure @escaping @Sendable () -> any Call, _ loss: NotifyError.Code,
            _ time: ReplyTime
        ) {
            (testDescription, makeCall, self.loss, self.time) = (description, call, loss, time)
        }

        init(
            _ description: String, _ frame: some RequestFrame, _ loss: NotifyError.Code, _ time: ReplyTime
        ) {
            self.init(description, FrameCall(frame), loss, time)
        }
    }

    static let cases = [
        Case("clients", EntriesRequest<ClientEntry>(), .connectionLost, .short),
        Case("subscriptions", EntriesRequest<SubscriptionEntry>(), .connectionLost, .short),
        Case("names", EntriesRequest<NameEntry>(), .connectionLost, .short),
        Case("durables", EntriesRequest<DurableEntry>(), .connectionLost, .short),
        Case("monitor", MonitorRequest(patterns: ["a"]), .connectionLost, .short),
        Case("trace", TraceRequest(sequence: 1), .connectionLost, .short),
        Case("summary", SummarizeLog(patterns: ["a"]), .connectionLost, .long),
        Case("log", PageCall(ReadLog(patterns: ["a"])), .connectionLost, .short),
        Case("snapshot", PageCall(ReadLog(awaitsPending: true, patterns: ["a"])), .connectionLost, .short),
        Case("follow", PageCall(ReadLog(isWaiting: true, patterns: ["a"])), .connectionLost, .unlimited),
        Case("find", Find(position: .oldest), .connectionLost, .short),
        Case("describe", Describe(durableName: "d"), .connectionLost, .short),
        Case("create", create, .outcomeUnknown, .short),
        Case("reset", Reset(durableName: "d", to: .oldest), .outcomeUnknown, .short),
        Case("edit", Edit(durableName: "d", patterns: ["a"]), .outcomeUnknown, .short),
        Case("configure", Configure(durableName: "d", changes: .init()), .outcomeUnknown, .short),
        Case("remove", Remove(durableName: "d"), .outcomeUnknown, .short),
        Case("purge", Purge(patterns: ["a"]), .outcomeUnknown, .long),
        Case("retry", DeadLetters(action: .retry), .outcomeUnknown, .long),
        Case("ping", Ping(), .connectionLost, .short),
        Case("statistics", StatisticsRequest(), .connectionLost, .short),
        Case("limits", LimitsRequest(), .connectionLost, .short),
        Case("reload", Reload(), .outcomeUnknown, .long),
        Case("backup", BackupRequest(target: .init(device: 0, inode: 0, name: "b")), .connectionLost, .long),
        Case("chunk", BackupChunkRequest(offset: 0), .connectionLost, .short),
        Case("check", CheckRequest(isFull: true), .connectionLost, .long),
        Case(
            "policy", PolicyQuery(uid: 0, gid: 0, groups: [], right: .post, name: "a"), .connectionLost, .short),
    ]

    private static let create = CreateDurable(
        Subscribe(request: 0, subscription: 1, patterns: ["a"], durableName: "d"))

    @Test(arguments: cases) func `the error of an unanswered request depends on whether it is a change`(of kind: Case) {
        let call = kind.makeCall()
        #expect(call.lossError.code == kind.loss)
        let code = call.timeoutError(after: .seconds(1)).code
        #expect(code == (kind.loss == .outcomeUnknown ? .outcomeUnknown : .timedOut))
        #expect(call.replyTime == kind.time)
    }

    /// Lets time pass while the daemon answers no request, or answers only pings.
    @Test(arguments: cases, [false, true])
    func `an unanswered request times out, a long one only without pongs, a waiting one never`(
        of kind: Case, pinged: Bool
    ) throws {
        var configuration = NotificationClient.Configuration.manual
        configuration.requestTimeout = .seconds(8)
        let harness = try MachineHarness.ready(configuration)
        let call = kind.makeCall()
        harness.process { [now = harness.now] in $0.call(call, now: now, &$1) }
        for _ in 0..<400 {
            harness.advance(by: .milliseconds(100))
            // The request under test is not answered, even if it is a ping.
            for frame in try harness.read() where pinged && frame.kind == .ping {
                let ping: NotifyWire.Ping = try frame.read()
                if ping.request > 1 { harness.receive { Pong(request: ping.request).write(to: &$0) } }
            }
        }
        #expect(call.waiter.isAnswered == (kind.time == .short || kind.time == .long && !pinged))
    }
}
