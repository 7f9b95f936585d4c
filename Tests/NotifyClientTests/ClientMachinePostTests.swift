import NIOCore
import NotifyWire
import Testing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(25))) struct ClientMachinePostTests {
    private func receipt(_ harness: MachineHarness, _ requests: UInt64...) {
        harness.receive { buffer in
            for request in requests {
                NotifyWire.Receipt(
                    request: request, sequence: request * 10, subscribers: 1, stored: 2, durability: .stored
                ).write(to: &buffer)
            }
        }
    }

    @Test func `a request that waits for a message holds up no posts, however many there are`() async throws {
        let harness = try MachineHarness.ready(postWindow: 8)
        let page = harness.call(PageCall(ReadLog(isWaiting: true, patterns: ["a"])))
        let readRequest = try #require(try harness.read().first).read(ReadLog.self).request
        for sequence in 1...UInt64(2 * RequestTable<ClientMachine.PendingRequest>.maximumSpan) {
            let posted = try harness.post()
            let request = try #require(try harness.readPosts().first, "post \(sequence) was not sent").request
            harness.receive {
                NotifyWire.Receipt(
                    request: request, sequence: sequence, subscribers: 0, stored: 0, durability: .volatile
                ).write(to: &$0)
            }
            try #require(posted.isAnswered)
        }
        harness.receive { LogPage(request: readRequest, count: 0, isEnd: true, through: 5).write(to: &$0) }
        #expect(try await page.wait().header.through == 5)
    }

    @Test func `posts are sent in order, and receipts are matched in any order`() async throws {
        let harness = try MachineHarness.ready()
        let first = try harness.post("a.b", "1")
        let second = try harness.post("a.b", "2")
        let posts = try harness.readPosts()
        #expect(posts.map(\.text) == ["1", "2"])
        #expect(posts.map(\.wantsReceipt) == [true, true])
        receipt(harness, posts[1].request, posts[0].request)
        #expect(try await first.wait().sequence == posts[0].request * 10)
        #expect(
            try await second.wait()
                == .init(
                    .init(request: 0, sequence: posts[1].request * 10, subscribers: 1, stored: 2, durability: .stored)))
    }

    @Test func `staged posts of a pipeline come before later requests`() async throws {
        let harness = try MachineHarness.ready()
        let pipeline = PipelineBuffer(capacity: 8)
        try await harness.stage("1", to: pipeline)
        try await harness.stage("2", to: pipeline)
        #expect(harness.hasOutgoing)
        _ = try harness.post("a.b", "3")
        #expect(try harness.readPosts().map(\.text) == ["1", "2", "3"])
    }

    @Test func `staged posts that wait for the window cause no write`() async throws {
        let harness = try MachineHarness.ready(postWindow: 1)
        _ = try harness.post("a.b", "1")
        let first = try #require(try harness.readPosts().first)
        try await harness.stage("2", to: PipelineBuffer(capacity: 8))
        #expect(harness.hasOutgoing)
        #expect(harness.takeOutgoing() == nil)
        receipt(harness, first.request)
        #expect(try harness.readPosts().map(\.text) == ["2"])
    }

    @Test(arguments: [false, true])
    func `staged posts have a time limit even if nothing can be written`(isConnected: Bool) async throws {
        let harness = try MachineHarness.ready()
        if isConnected { harness.process { machine, _ in machine.isBlocked = true } } else { harness.disconnect() }
        let pipeline = PipelineBuffer(capacity: 8, timeout: .seconds(5))
        try await harness.stage("1", to: pipeline)
        harness.advance(by: .seconds(6))
        let outcome = try #require(try await pipeline.nextOutcome())
        #expect(throws: NotifyError.self) { _ = try outcome.get() }
    }

    @Test(arguments: [1, 2, 3])
    func `unanswered posts do not exceed the window`(window: UInt32) throws {
        let harness = try MachineHarness.ready(postWindow: window)
        for number in 0..<10 { _ = try harness.post("a.b", "\(number)") }
        var texts: [String] = []
        while true {
            let posts = try harness.readPosts()
            guard !posts.isEmpty else { break }
            #expect(posts.count <= Int(window))
            texts += posts.map(\.text)
            for post in posts { receipt(harness, post.request) }
        }
        #expect(texts == (0..<10).map(String.init))
    }

    @Test func `posts without a receipt do not use the window`() async throws {
        let harness = try MachineHarness.ready(postWindow: 1)
        _ = try harness.post()
        let sent = try harness.send("a.b", "free")
        try await sent.wait()
        let posts = try harness.readPosts()
        #expect(posts.map(\.wantsReceipt) == [true, false])
    }

    @Test func `a full write buffer delays posts without dropping any`() throws {
        let harness = try MachineHarness.ready(postWindow: 10_000)
        let text = String(repeating: "x", count: 100_000)
        for _ in 0..<30 { _ = try harness.post("a.b", text) }
        let taken = try #require(harness.takeOutgoing())
        #expect(taken.readableBytes < ClientMachine.outgoingBytes + 200_000)
        #expect(try harness.readPosts().count + 11 >= 30)
    }

    @Test func `a post interrupted by a lost connection has an unknown outcome and is not sent again`() async throws {
        let harness = try MachineHarness.ready()
        let slot = try harness.post()
        _ = try harness.read()
        try harness.reconnect()
        #expect(await slot.code() == .outcomeUnknown)
        #expect(try harness.readPosts().isEmpty)
    }

    @Test func `posts that a closing daemon did not process are sent again, in order`() async throws {
        let harness = try MachineHarness.ready()
        let slots = try (0..<4).map { try harness.post("a.b", "\($0)") }
        let posts = try harness.readPosts()
        receipt(harness, posts[0].request)
        harness.receive { Closing(lastRequest: posts[1].request).write(to: &$0) }
        _ = try harness.post("a.b", "later")
        #expect(try harness.readPosts().isEmpty, "a closing daemon gets no more posts")
        try harness.reconnect()
        #expect(await slots[0].code() == nil)
        #expect(await slots[1].code() == .outcomeUnknown)
        let again = try harness.readPosts()
        #expect(again.map(\.text) == ["2", "3", "later"])
        #expect(again[0].request > posts[3].request)
        receipt(harness, again[0].request, again[1].request)
        #expect(await slots[2].code() == nil)
        #expect(await slots[3].code() == nil)
    }

    @Test func `without a connection, posts wait up to the time limit`() async throws {
        let harness = MachineHarness()
        let slot = try harness.post()
        let sender = try harness.send()
        harness.advance(by: .milliseconds(4999))
        let late = try harness.post()
        harness.advance(by: .milliseconds(1))
        #expect(await slot.code() == .notConnected)
        #expect(await sender.code() == .notConnected)
        harness.process { $0.start(&$1) }
        try harness.connect()
        let posts = try harness.readPosts()
        #expect(posts.count == 1)
        receipt(harness, posts[0].request)
        #expect(await late.code() == nil)
    }

    @Test func `a lost connection restarts the timeout of posts that wait for the window`() async throws {
        let harness = try MachineHarness.ready(postWindow: 1)
        _ = try harness.post("a.b", "under way")
        let waiting = try harness.post("a.b", "waiting")
        harness.now += .seconds(100)
        harness.disconnect()
        harness.advance(by: .seconds(4))
        try harness.connect()
        #expect(try harness.readPosts().map(\.text) == ["waiting"])
        harness.advance(by: .seconds(100))
        harness.disconnect()
        #expect(await waiting.code() == .outcomeUnknown)
    }

    @Test func `a refusal is matched to its post and frees the window`() async throws {
        let harness = try MachineHarness.ready(postWindow: 1)
        let refused = try harness.post()
        let next = try harness.post("a.b", "next")
        let request = try harness.readPosts()[0].request
        harness.receive { ErrorFrame(request: request, code: .forbidden, message: "no").write(to: &$0) }
        #expect(await refused.code() == .forbidden)
        let posts = try harness.readPosts()
        #expect(posts.map(\.text) == ["next"])
        receipt(harness, posts[0].request)
        #expect(await next.code() == nil)
    }

    @Test func `an error code of a later version is a refusal with that code`() async throws {
        let harness = try MachineHarness.ready()
        let slot = try harness.post()
        let request = try harness.readPosts()[0].request
        harness.receive { buffer in
            var frame = ErrorFrame(request: request, code: .forbidden, message: "new")
            frame.code = 999
            frame.write(to: &buffer)
        }
        let error = await #expect(throws: NotifyError.self) { try await slot.wait() }
        #expect(error?.code == .refused && error?.detail == 999 && error?.isRefusal == true)
    }

    @Test(arguments: [(1 << 20) - 1, 1 << 20, (1 << 20) + 1])
    func `a payload over the daemon's limit is refused without sending`(size: Int) async throws {
        let harness = try MachineHarness.ready()
        let slot = try harness.post("a.b", String(repeating: "x", count: size))
        let posts = try harness.readPosts()
        if size <= 1 << 20 {
            #expect(posts.count == 1)
        } else {
            #expect(posts.isEmpty)
            #expect(await slot.code() == .payloadTooLarge)
        }
    }

    @Test func `a cancelled post that was not sent is never sent`() async throws {
        let harness = try MachineHarness.ready(postWindow: 1)
        let first = try harness.post("a.b", "first")
        let second = try harness.post("a.b", "second")
        let waiting = harness.process { machine, _ in machine.cancelPost(second) }
        #expect(waiting.message == NotifyError.cancelled.message)
        let underWay = harness.process { machine, _ in machine.cancelPost(first) }
        #expect(underWay.message == NotifyError.cancelledInFlight.message)
        let posts = try harness.readPosts()
        #expect(posts.map(\.text) == ["first"])
        receipt(harness, posts[0].request)
        #expect(try harness.readPosts().isEmpty)
    }

    @Test func `an answer to an unknown request closes the connection`() throws {
        let harness = try MachineHarness.ready()
        receipt(harness, 77)
        #expect(harness.channel == .close)
        harness.disconnect()
        harness.advance(by: .seconds(1))
        #expect(harness.channel == .connect)
    }

    @Test func `stopping refuses waiting posts, awaits unanswered ones and sends a last ping`() async throws {
        let harness = try MachineHarness.ready(postWindow: 1)
        let underWay = try harness.post()
        let waiting = try harness.post()
        let end = ReplySlot<Void>()
        harness.process { $0.awaitEnd(end, &$1) }
        harness.stop()
        #expect(await waiting.code() == .stopped)
        let frames = try harness.read()
        #expect(frames.map(\.kind) == [.post, .ping])
        receipt(harness, try frames[0].readPost().request)
        #expect(await underWay.code() == nil)
        #expect(harness.channel == .connect)
        let ping: Ping = try frames[1].read()
        harness.receive { Pong(request: ping.request).write(to: &$0) }
        #expect(harness.channel == .close)
        harness.disconnect()
        #expect(await end.code() == nil)
        #expect(await (try harness.post()).code() == .stopped)
    }

    @Test func `stopping has a time limit`() async throws {
        let harness = try MachineHarness.ready()
        let underWay = try harness.post()
        harness.stop()
        harness.advance(by: .seconds(5))
        #expect(harness.channel == .close)
        harness.disconnect()
        #expect(await underWay.code() == .outcomeUnknown)
    }

    @Test func `a daemon of another version ends the client`() async throws {
        let harness = MachineHarness()
        harness.process { $0.start(&$1) }
        harness.process { $0.connected(now: .zero, &$1) }
        let end = ReplySlot<Void>()
        harness.process { $0.awaitEnd(end, &$1) }
        let post = try harness.post()
        let hello: Hello = try harness.read()[0].read()
        harness.receive { FakeConnection.welcome(to: hello, version: 2).write(to: &$0) }
        #expect(harness.channel == .close)
        harness.disconnect()
        #expect(await end.code() == .unsupportedVersion)
        #expect(await post.code() == .unsupportedVersion)
    }

    @Test func `a daemon that closes before its greeting is tried again`() throws {
        let harness = MachineHarness()
        harness.process { $0.start(&$1) }
        harness.process { $0.connected(now: .zero, &$1) }
        _ = try harness.read()
        harness.receive { Closing(lastRequest: 0).write(to: &$0) }
        harness.disconnect()
        harness.advance(by: .seconds(1))
        try harness.connect()
    }
}
