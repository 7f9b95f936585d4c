import NIOCore
import NotifyWire
import Testing

@testable import NotifyClient

/// Requests that the daemon does not answer. They have a time limit of 8 s, so the limit is checked every second.
@Suite(.timeLimit(.minutes(25))) struct ClientMachineTimeoutTests {
    private func ready(postWindow: UInt32 = 8) throws -> MachineHarness {
        var configuration = NotificationClient.Configuration.manual
        configuration.requestTimeout = .seconds(8)
        configuration.connectionWait = .seconds(60)
        return try MachineHarness.ready(postWindow: postWindow, configuration)
    }

    /// Lets time pass in steps of a tenth of a second.
    private func wait(_ harness: MachineHarness, _ seconds: Int) {
        for _ in 0..<seconds * 10 { harness.advance(by: .milliseconds(100)) }
    }

    @Test func `a sent post has an unknown outcome, and a post that waits for room has timed out`() async throws {
        let harness = try ready(postWindow: 1)
        let sent = try harness.post()
        let waiting = try harness.post()
        wait(harness, 7)
        #expect(!sent.isAnswered && !waiting.isAnswered)
        wait(harness, 2)
        #expect(await sent.code() == .outcomeUnknown)
        #expect(await waiting.code() == .timedOut)
        #expect(try harness.readPosts().count == 1)
    }

    @Test func `each request has the whole time limit`() async throws {
        let harness = try ready()
        var slots: [ReplySlot<NotificationClient.Receipt>] = []
        for _ in 0..<30 {
            slots.append(try harness.post())
            harness.advance(by: .milliseconds(300))
        }
        // The last posts were made 8.7 s after the first one.
        for (index, slot) in slots.enumerated() {
            let age = .milliseconds(9000) - .milliseconds(300) * index
            if age < .seconds(8) { #expect(!slot.isAnswered, "after \(age)") }
            if age > .seconds(9) { #expect(slot.isAnswered, "after \(age)") }
        }
        wait(harness, 9)
        for slot in slots { #expect(await slot.code() != nil) }
    }

    @Test func `a post that waited for room and was then sent expires, too`() async throws {
        let harness = try ready(postWindow: 1)
        let first = try harness.post()
        let second = try harness.post()
        wait(harness, 5)
        let request = try #require(try harness.readPosts().first).request
        harness.receive {
            NotifyWire.Receipt(request: request, sequence: 1, subscribers: 0, stored: 0, durability: .volatile)
                .write(to: &$0)
        }
        #expect(await first.code() == nil)
        #expect(try harness.readPosts().count == 1)
        wait(harness, 9)
        #expect(await second.code() == .outcomeUnknown)
    }

    @Test func `a late answer is ignored, and frees the window`() async throws {
        let harness = try ready(postWindow: 1)
        let late = try harness.post("a.b", "late")
        let ping = harness.call(Ping())
        let frames = try harness.read()
        wait(harness, 9)
        #expect(await late.code() == .outcomeUnknown)
        #expect(await ping.code() == .timedOut)
        let next = try harness.post("a.b", "next")
        #expect(try harness.readPosts().isEmpty)
        harness.receive { buffer in
            NotifyWire.Receipt(
                request: 1, sequence: 1, subscribers: 0, stored: 0, durability: .volatile
            ).write(to: &buffer)
            Pong(request: 2).write(to: &buffer)
        }
        #expect(frames.count == 2)
        #expect(try harness.readPosts().map(\.text) == ["next"])
        #expect(!next.isAnswered)
    }

    @Test func `a post that timed out is not sent again after a restart of the daemon`() async throws {
        let harness = try ready()
        let post = try harness.post()
        let ping = harness.call(Ping())
        _ = try harness.read()
        wait(harness, 9)
        #expect(await post.code() == .outcomeUnknown)
        #expect(await ping.code() == .timedOut)
        harness.receive { Closing(lastRequest: 0).write(to: &$0) }
        try harness.reconnect()
        #expect(try harness.read().isEmpty)
    }

    @Test func `an unanswered change has an unknown outcome, and an unanswered read has timed out`() async throws {
        let harness = try ready()
        let removal = harness.call(Remove(uid: 0, durableName: "d"))
        let statistics = harness.call(StatisticsRequest())
        wait(harness, 9)
        #expect(await removal.code() == .outcomeUnknown)
        #expect(await statistics.code() == .timedOut)
    }

    @Test func `a subscription that is not confirmed has an unknown outcome`() async throws {
        let harness = try ready()
        let subscription = try harness.subscribe(["a"])
        wait(harness, 9)
        #expect(await subscription.openWaiter.code() == .outcomeUnknown)
    }

    @Test func `the wait for a connection does not count towards the time limit of a request`() async throws {
        let harness = try ready()
        harness.disconnect()
        let post = try harness.post()
        let ping = harness.call(Ping())
        wait(harness, 20)
        #expect(!post.isAnswered && !ping.isAnswered)
        try harness.connect()
        wait(harness, 7)
        #expect(!post.isAnswered && !ping.isAnswered)
        wait(harness, 2)
        #expect(await post.code() == .outcomeUnknown)
        #expect(await ping.code() == .timedOut)
    }

    @Test func `a limit of a single request includes the wait for a connection`() async throws {
        let harness = try ready()
        let sent = try harness.post(timeout: .milliseconds(100))
        let long = try harness.post(timeout: .seconds(30))
        harness.advance(by: .milliseconds(100))
        #expect(await sent.code() == .outcomeUnknown)
        wait(harness, 20)
        #expect(!long.isAnswered)
        wait(harness, 10)
        #expect(await long.code() == .outcomeUnknown)
        harness.disconnect()
        let post = try harness.post(timeout: .seconds(2))
        let ping = harness.call(Ping(), timeout: .seconds(2))
        wait(harness, 2)
        #expect(await post.code() == .timedOut)
        #expect(await ping.code() == .timedOut)
        try harness.connect()
        #expect(try harness.read().isEmpty)
    }

    @Test func `a limit of a single subscription includes the wait for a connection`() async throws {
        let harness = try ready()
        let requested = try harness.subscribe(["a"], timeout: .seconds(2))
        let long = try harness.subscribe(["a"], timeout: .seconds(30))
        wait(harness, 2)
        #expect(await requested.openWaiter.code() == .outcomeUnknown)
        wait(harness, 20)
        #expect(!long.openWaiter.isAnswered)
        harness.disconnect()
        let waiting = try harness.subscribe(["a"], timeout: .seconds(2))
        wait(harness, 2)
        #expect(await waiting.openWaiter.code() == .timedOut)
        wait(harness, 6)
        #expect(await long.openWaiter.code() == .timedOut)
    }

    @Test(arguments: [false, true])
    func `a durable subscription that was requested before the connection was lost may exist`(
        isDurable: Bool
    ) async throws {
        let harness = try ready()
        let subscription = try harness.subscribe(
            ["a"], isDurable ? .durable("d") : .volatile(), timeout: .seconds(2))
        harness.disconnect()
        wait(harness, 2)
        #expect(await subscription.openWaiter.code() == (isDurable ? .outcomeUnknown : .timedOut))
    }

    @Test func `if posts of several pipelines expire at once, there is one search per pipeline`() {
        var timeouts = RequestTimeouts(limit: .seconds(1))
        let pipelines = (0..<2).map { _ in PipelineBuffer(capacity: 100, timeout: .seconds(1)) }
        // Some of these posts have equal deadlines.
        for end in 1...50 as ClosedRange<UInt64> {
            for pipeline in pipelines {
                timeouts.add(.posts(of: pipeline, before: end), until: .seconds(1) + .milliseconds(end / 10))
            }
        }
        let ends = timeouts.takeExpired(.seconds(2)).map { expired -> UInt64 in
            if case .posts(_, let end) = expired { end } else { 0 }
        }
        #expect(ends == [50, 50])
    }

    @Test func `posts of a pipeline expire at the pipeline's limit, and posts made later do not`() async throws {
        let harness = try ready(postWindow: 2)
        let pipeline = PipelineBuffer(capacity: 16, timeout: .seconds(20))
        try await harness.post(3, to: pipeline)
        wait(harness, 15)
        try await harness.post(1, to: pipeline)
        let other = PipelineBuffer(capacity: 16)
        try await harness.post(1, to: other)
        #expect(!pipeline.isKnown(before: 1))
        wait(harness, 6)
        #expect(pipeline.isKnown(before: 3) && !pipeline.isKnown(before: 4) && !other.isKnown(before: 1))
        #expect(try await pipeline.next().map(\.code) == [.outcomeUnknown, .outcomeUnknown, .timedOut])
        wait(harness, 14)
        #expect(try await pipeline.next().map(\.code) == [.timedOut])
        #expect(try await other.next().map(\.code) == [.timedOut])
    }

    @Test func `answered posts of a pipeline are released before their deadline`() async throws {
        struct WeakPipeline {
            weak var buffer: PipelineBuffer?
        }

        let harness = try ready()
        var pipelines: [WeakPipeline] = []
        for _ in 0..<1000 {
            let pipeline = PipelineBuffer(capacity: 16, timeout: .seconds(3600))
            pipelines.append(WeakPipeline(buffer: pipeline))
            try await harness.post(1, to: pipeline)
            let request = try #require(try harness.readPosts().first).request
            harness.receive {
                NotifyWire.Receipt(request: request, sequence: 1, subscribers: 0, stored: 0, durability: .volatile)
                    .write(to: &$0)
            }
        }
        #expect(pipelines.count { $0.buffer != nil } <= 64)
    }

    @Test func `requests that take long fail only if the daemon does not respond`() async throws {
        let harness = try ready()
        let purge = harness.call(Purge(patterns: ["a"]))
        _ = try harness.read()
        for _ in 0..<5 {
            wait(harness, 9)
            for ping in try harness.read() where ping.kind == .ping {
                harness.receive { Pong(request: (try? ping.read(Ping.self).request) ?? 0).write(to: &$0) }
            }
        }
        #expect(!purge.isAnswered)
        wait(harness, 27)
        #expect(await purge.code() == .outcomeUnknown)
    }

    @Test func `a sequence waits for messages without limit`() throws {
        let harness = try ready()
        let page = harness.call(PageCall(ReadLog(maximumMessages: 1, isWaiting: true, patterns: ["a"])))
        wait(harness, 60)
        #expect(!page.isAnswered)
    }

    @Test(arguments: [Duration.zero, .seconds(-1), .nanoseconds(1)])
    func `a limit below a millisecond counts as a millisecond`(limit: Duration) async throws {
        var configuration = NotificationClient.Configuration.manual
        configuration.requestTimeout = limit
        let harness = try MachineHarness.ready(configuration)
        let slots = try (0..<3).map { _ in
            harness.advance(by: .zero)
            return try harness.post()
        }
        #expect(slots.allSatisfy { !$0.isAnswered })
        // Each deadline must lie ahead, so that the event loop sleeps until then.
        var wakeUps = 0
        while let deadline = harness.process({ machine, _ in machine.deadline }), wakeUps < 100 {
            #expect(deadline > harness.now)
            harness.advance(by: deadline - harness.now)
            wakeUps += 1
        }
        #expect(wakeUps < 20)
        for slot in slots { #expect(await slot.code() == .outcomeUnknown) }
    }

    @Test func `an idle client has no deadline`() async throws {
        let harness = try ready()
        let post = try harness.post()
        let request = try #require(try harness.readPosts().first).request
        harness.receive {
            NotifyWire.Receipt(request: request, sequence: 1, subscribers: 0, stored: 0, durability: .volatile)
                .write(to: &$0)
        }
        #expect(await post.code() == nil)
        wait(harness, 18)
        #expect(harness.process { machine, _ in machine.deadline } == nil)
    }
}

extension Result where Failure == NotifyError {
    fileprivate var code: NotifyError.Code? {
        if case .failure(let error) = self { error.code } else { nil }
    }
}
