import FoundationEssentials
import NIOCore
import NotifyCenter
import NotifyWire
import Synchronization
import TestSupport
import Testing

@testable import NotifyClient

/// The client over a real socket. The test acts as the daemon.
@Suite(.timeLimit(.minutes(25))) struct NotifyClientTests {
    @Test func `time limits may be infinite`() async throws {
        try await FakeDaemon.run { daemon in
            var configuration = NotificationClient.Configuration.test(daemon.path)
            configuration.connectionWait = .seconds(Int.max)
            configuration.requestTimeout = .seconds(Int.max)
            configuration.closingTimeout = .seconds(Int.max)
            try await withNotificationClient(configuration: configuration) { client in
                async let connection = daemon.accept()
                try await client.ping()
                try await client.ping(timeout: .seconds(Int.max))
                _ = try await connection
            }
        }
    }

    @Test func `a post arrives with all its parts, and its receipt is returned`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let posted = client.post("orders.created", "42", object: "shop", durability: .stored)
                let connection = try await daemon.accept()
                let post = try await connection.expectPost()
                #expect(post.name == "orders.created" && post.text == "42" && post.object == "shop")
                #expect(post.durability == .stored)
                connection.sendReceipt(post.request, sequence: 9, durability: .stored)
                #expect(try await posted.sequence == 9)
                async let finalPing: Void = connection.expectFinalPing()
                await client.stop()
                try await finalPing
            }
        }
    }

    @Test func `concurrent posts stay within the window and get their own receipts`() async throws {
        try await FakeDaemon.run(postWindow: 16) { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let served: Void = {
                    let connection = try await daemon.accept()
                    for _ in 0..<500 {
                        let post = try await connection.expectPost()
                        connection.sendReceipt(post.request, sequence: try #require(UInt64(post.text)))
                    }
                    try await connection.expectFinalPing()
                }()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<500 {
                        group.addTask {
                            let receipt = try await client.post("a.b", "\(number)")
                            #expect(receipt.sequence == UInt64(number))
                        }
                    }
                    try await group.waitForAll()
                }
                async let stopped: Void = client.stop()
                try await served
                await stopped
            }
        }
    }

    @Test func `a pipeline yields results in order, including refusals`() async throws {
        try await FakeDaemon.run(postWindow: 8) { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let served: Void = {
                    let connection = try await daemon.accept()
                    for number in 0..<200 {
                        let post = try await connection.expectPost()
                        #expect(post.text == "\(number)")
                        if number % 10 == 3 {
                            connection.send(ErrorFrame(request: post.request, code: .logFull, message: "full"))
                        } else {
                            connection.sendReceipt(post.request, sequence: UInt64(number))
                        }
                    }
                }()
                let pipeline = client.postPipeline(capacity: 20)
                async let results = pipeline.results.reduce(into: [UInt64?]()) { $0.append(try? $1.get().sequence) }
                let message = try NotificationClient.OutgoingMessage(name: NotificationName("a.b"))
                try await pipeline.post(contentsOf: (0..<150).map { message.with(payload: Array("\($0)".utf8)) })
                for number in 150..<200 { try await pipeline.post(message.with(payload: Array("\(number)".utf8))) }
                pipeline.finish()
                #expect(try await results == (0..<200).map { $0 % 10 == 3 ? nil : UInt64($0) })
                try await served
            }
        }
    }

    @Test func `posts without a receipt arrive before the client ends`() async throws {
        try await FakeDaemon.run { daemon in
            async let served: [String] = {
                let connection = try await daemon.accept()
                var texts: [String] = []
                while let frame = try await connection.next() {
                    if frame.kind == .post { texts.append(try frame.readPost().text) }
                }
                return texts
            }()
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                for number in 0..<1000 { try await client.send("a.b", "\(number)") }
            }
            #expect(try await served == (0..<1000).map(String.init))
        }
    }

    @Test func `messages arrive with the daemon's stamp`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let connection = daemon.accept()
                async let subscription = client.subscribe(to: ["orders.>"])
                let daemon = try await connection
                try await daemon.acceptSubscription()
                let headers = try HeaderList.encode([("k", "v"), ("l", "w")])
                daemon.send { buffer in
                    buffer.writeDelivery(5, "orders.created", object: "shop", headers: headers, payload: "{\"n\":1}")
                }
                var iterator = try await subscription.makeAsyncIterator()
                guard case .message(let message)? = try await iterator.next() else {
                    Issue.record("no message was delivered")
                    return
                }
                #expect(message.sequence == 5 && message.name == "orders.created" && message.object == "shop")
                #expect(message.uid == 10 && message.gid == 20 && message.pid == 30)
                #expect(message.timeMicroseconds == 1_700_000_000_000_000)
                #expect(message.date.timeIntervalSince1970 == 1_700_000_000)
                #expect(message.headers.map(\.key) == ["k", "l"] && message.headers["l"] == "w")
                #expect(message.text == "{\"n\":1}" && message.payload == Array("{\"n\":1}".utf8))
                #expect(message.withPayload { $0.count } == 7)
                #expect(try message.decode(as: [String: Int].self) == ["n": 1])
                #expect(throws: NotifyError.self) { try message.decode(as: [Int].self) }
                #expect(!message.isRedelivered)
                message.acknowledge()
            }
        }
    }

    @Test func `a scoped durable subscription acknowledges and detaches with confirmation`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let served: Void = {
                    let connection = try await daemon.accept()
                    let subscribe = try await connection.acceptSubscription()
                    #expect(subscribe.durableName == "billing" && subscribe.credit == 3)
                    connection.send { $0.writeRun(subscribe.subscription, [1, 2, 3]) }
                    var acknowledged: UInt64 = 0
                    while acknowledged < 3 {
                        let frame: Acknowledge = try await connection.expect()
                        acknowledged = try #require(frame.ranges.last).last
                    }
                    try await connection.expectDetach()
                }()
                let texts = try await client.withSubscription(to: "a.*", as: .durable("billing"), limit: 3) {
                    subscription in
                    var texts: [String] = []
                    for try await message in subscription.messages(onGap: { _ in }) {
                        texts.append(message.text ?? "")
                        message.acknowledge()
                    }
                    return texts
                }
                #expect(texts == ["1", "2", "3"])
                try await served
            }
        }
    }

    @Test func `the closure form acknowledges a message unless the closure throws`() async throws {
        struct Refused: Error {}
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let served: UInt64 = {
                    let connection = try await daemon.accept()
                    let subscribe = try await connection.acceptSubscription()
                    connection.send { $0.writeRun(subscribe.subscription, [1, 2, 3]) }
                    var last: UInt64 = 0
                    while let frame = try await connection.next(), frame.kind == .acknowledge {
                        last = try frame.read(Acknowledge.self).ranges.last?.last ?? 0
                    }
                    return last
                }()
                await #expect(throws: Refused.self) {
                    try await client.subscribe(to: "a.*", as: .durable("d"), onGap: { _ in }) { message in
                        if message.sequence == 3 { throw Refused() }
                    }
                }
                let last = try await served
                #expect(last == 2)
            }
        }
    }

    @Test func `the client reconnects, resubscribes and reports the gap`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let accepted = daemon.accept()
                async let subscribing = client.subscribe(to: [">"])
                let first = try await accepted
                try await first.acceptSubscription(after: 4)
                var iterator = try await subscribing.makeAsyncIterator()
                try await first.close()
                let second = try await daemon.accept()
                try await second.acceptSubscription(after: 9)
                second.send { $0.writeDelivery(10) }
                guard case .gap(let gap)? = try await iterator.next() else {
                    Issue.record("no gap was reported")
                    return
                }
                #expect(gap == .init(reason: .reconnected, missed: 5, isUpperBound: true, sequences: 5...9))
                guard case .message(let message)? = try await iterator.next() else {
                    Issue.record("no message was delivered")
                    return
                }
                #expect(message.sequence == 10)
            }
        }
    }

    @Test func `the client connects to a daemon that is started later`() async throws {
        try await FakeDaemon.run(listening: false) { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let ping = client.ping()
                try await daemon.listen()
                let connection = try await daemon.accept()
                try await connection.expectPing()
                #expect(try await ping > .zero)
            }
        }
    }

    @Test func `a missing daemon ends the client if the first connection is required`() async throws {
        try await FakeDaemon.run(listening: false) { daemon in
            var configuration = NotificationClient.Configuration.test(daemon.path)
            configuration.requiresFirstConnection = true
            let client = NotificationClient(configuration: configuration)
            let error = await #expect(throws: NotifyError.self) { try await client.run() }
            #expect(error?.code == .noDaemon)
            let posting = await #expect(throws: NotifyError.self) { try await client.post("a.b") }
            #expect(posting?.code == .noDaemon)
        }
    }

    @Test func `run ends when its task is cancelled and when the client is stopped`() async throws {
        try await FakeDaemon.run { daemon in
            let client = NotificationClient(configuration: .test(daemon.path))
            let running = Task { try await client.run() }
            let connection = try await daemon.accept()
            async let answered: Void = connection.expectPing()
            try await client.ping()
            try await answered
            running.cancel()
            try await connection.expectFinalPing()
            try await running.value
            await client.stop()
            try await client.run()
        }
    }

    @Test func `lists return the daemon's entries`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let accepted = daemon.accept()
                async let listedClients = client.administration.clients()
                let connection = try await accepted
                let clients: ListRequest = try await connection.expect()
                #expect(clients.subject == .clients)
                connection.send(
                    ClientEntry(
                        request: clients.request, client: 1, connectedMicroseconds: 2, uid: 3, gid: 4, pid: 5,
                        subscriptions: 6, posts: 7, refused: 8, delivered: 9, dropped: 10, droppedByClient: 11,
                        waitingBytes: 12))
                connection.send(ListEnd(request: clients.request))
                let one = try #require(try await listedClients.first)
                #expect(one.id == 1 && one.connectedMicroseconds == 2 && one.uid == 3 && one.gid == 4 && one.pid == 5)
                #expect(one.subscriptionCount == 6 && one.posts == 7 && one.refused == 8 && one.delivered == 9)
                #expect(one.dropped == 10 && one.droppedByClient == 11 && one.waitingBytes == 12)

                async let listed = client.administration.subscriptions()
                let list: ListRequest = try await connection.expect()
                #expect(list.subject == .subscriptions)
                connection.send(
                    SubscriptionEntry(
                        request: list.request, uid: 7, cursor: 9, behind: 10, acknowledged: 11, unacknowledged: 12,
                        durableName: "billing", object: "shop", patterns: ["a"]))
                connection.send(
                    SubscriptionEntry(request: list.request, uid: 7, pid: 5, client: 1, patterns: ["b.>"]))
                connection.send(
                    SubscriptionEntry(
                        request: list.request, uid: 7, pid: 6, client: 2, unacknowledged: 3, concurrency: 4,
                        patterns: ["c"]))
                connection.send(ListEnd(request: list.request))
                let all = try await listed
                #expect(all.map(\.durable?.name) == ["billing", nil, nil])
                #expect(all.map(\.durable?.behind) == [10, nil, nil])
                #expect(all.first?.durable?.cursor == 9 && all.first?.durable?.acknowledged == 11)
                #expect(all.first?.durable?.unacknowledged == 12 && all.map(\.object) == ["shop", nil, nil])
                #expect(all.map(\.client) == [nil, 1, 2] && all.map(\.pid) == [nil, 5, 6])
                #expect(all.map(\.patterns) == [["a"], ["b.>"], ["c"]])
                #expect(all.map(\.server?.concurrency) == [nil, nil, 4])
                #expect(all.map(\.server?.heldRequests) == [nil, nil, 3])
            }
        }
    }

    @Test func `names, monitored posts and traces return the daemon's entries`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let accepted = daemon.accept()
                async let listedNames = client.administration.names()
                let connection = try await accepted
                let names: ListRequest = try await connection.expect()
                #expect(names.subject == .names)
                connection.send(
                    NameEntry(
                        request: names.request, posts: 1, payloadBytes: 2, dropped: 3, subscribers: 4, durables: 5,
                        name: "a"))
                connection.send(ListEnd(request: names.request))
                let name = try #require(try await listedNames.first)
                #expect(name.name == "a" && name.posts == 1 && name.payloadBytes == 2 && name.dropped == 3)
                #expect(name.subscribers == 4 && name.durableSubscriptions == 5)

                async let monitored = client.administration.monitoredPosts(to: ["a.>"])
                let monitor: MonitorRequest = try await connection.expect()
                #expect(monitor.patterns == ["a.>"])
                let stamp = Stamp(sequence: 9, timeMicroseconds: 8, uid: 7, gid: 6, pid: 5)
                var post = PostEntry(request: monitor.request, stamp: stamp, name: Array("a.b".utf8))
                post.headers = try HeaderList.encode([("k", "v")])
                (post.payload, post.payloadBytes, post.client, post.skipped) = ([1], 2_000, 3, 4)
                (post.durability, post.subscribers, post.stored) = (.synced, 1, 2)
                connection.send(post)
                (post.stamp.sequence, post.errorCode, post.reason) = (0, ErrorCode.forbidden.rawValue, "no")
                connection.send(post)
                post.errorCode = 9_999
                connection.send(post)
                connection.send(ListEnd(request: monitor.request))
                let posts = try await monitored
                let first = try #require(posts.first)
                #expect(first.message.sequence == 9 && first.message.timeMicroseconds == 8 && first.message.uid == 7)
                #expect(first.message.name == "a.b" && first.message.object == nil && first.message.headers["k"] == "v")
                #expect(first.message.payloadPrefix == [1] && first.message.payloadSize == 2_000)
                #expect(first.client == 3 && first.skipped == 4)
                guard case .accepted(let receipt) = first.outcome else { throw CancellationError() }
                #expect(receipt.durability == .synced && receipt.subscribers == 1 && receipt.stored == 2)
                let refusals = posts.dropFirst().map { post -> NotifyError.Code? in
                    if case .refused(let error) = post.outcome { error.code } else { nil }
                }
                #expect(refusals == [.forbidden, .refused])

                async let traced = client.administration.trace(9)
                let trace: TraceRequest = try await connection.expect()
                #expect(trace.sequence == 9)
                connection.send(PostEntry(request: trace.request, stamp: stamp, name: Array("a".utf8)))
                for (index, state) in TraceEntry.State.allCases.enumerated() {
                    connection.send(
                        TraceEntry(
                            request: trace.request, state: state, mayHaveBeenSeen: index == 0, uid: 1,
                            pid: index == 1 ? 20 : 0, client: index == 1 ? 2 : 0, durableName: "d\(index)"))
                }
                connection.send(ListEnd(request: trace.request))
                let answer = try await traced
                #expect(answer.message.name == "a")
                #expect(answer.subscriptions.map(\.name) == (0..<7).map { "d\($0)" })
                #expect(answer.subscriptions.map(\.state) == NotificationClient.Administration.Trace.State.allCases)
                #expect(answer.subscriptions.map(\.pid) == [nil, 20, nil, nil, nil, nil, nil])
                #expect(answer.subscriptions.map(\.mayHaveBeenSeen) == [true] + Array(repeating: false, count: 6))
            }
        }
    }

    @Test(arguments: [[], Array(repeating: "a", count: 17), ["a..b"]])
    func `invalid patterns of a monitor are refused by the client`(_ patterns: [String]) async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                let error = await #expect(throws: NotifyError.self) {
                    try await client.administration.monitoredPosts(to: patterns)
                }
                #expect(error?.code == (patterns.count == 1 ? .invalidPattern : .invalidArgument))
            }
        }
    }

    @Test func `inspection requests return the daemon's answers`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let accepted = daemon.accept()
                async let listed = client.administration.durableSubscriptions()
                let connection = try await accepted
                let list: ListRequest = try await connection.expect()
                for name in ["a", "b"] {
                    connection.send(
                        DurableEntry(
                            request: list.request, uid: 7, pid: name == "a" ? 0 : 8, cursor: 9,
                            pending: name == "a" ? nil : .init(messages: 2, bytes: 3, oldestMicroseconds: 4_000_000),
                            durableName: name, patterns: ["x.>"]))
                }
                connection.send(ListEnd(request: list.request))
                let all = try await listed
                #expect(all.map(\.name) == ["a", "b"] && all.map(\.holderPID) == [nil, 8])
                #expect(all.map(\.pending?.count.messages) == [nil, 2])
                #expect(all.last?.pending?.oldest?.timeIntervalSince1970 == 4)

                let removed = Task { try await client.administration.removeDurableSubscription("a") }
                let remove: Remove = try await connection.expect()
                #expect(remove.durableName == "a" && remove.uid == Remove.ownUID)
                connection.send(
                    ErrorFrame(request: remove.request, code: .unknownSubscription, message: "there is none"))
                let error = await #expect(throws: NotifyError.self) { try await removed.value }
                #expect(error?.code == .unknownSubscription && error?.isRefusal == true)

                async let counted = client.administration.statistics()
                let statistics: StatisticsRequest = try await connection.expect()
                connection.send(
                    StatisticsReport(request: statistics.request, counters: [.init(name: "stored", value: 3)]))
                #expect(try await counted["stored"] == 3)
                #expect(try await counted.version == "fake")

                async let used = client.administration.resourceUse()
                let limits: LimitsRequest = try await connection.expect()
                connection.send(
                    StatisticsReport(
                        request: limits.request,
                        counters: [
                            .init(name: "a", value: 3), .init(name: "a.limit", value: 5), .init(name: "b", value: 1),
                        ]))
                let uses = try await used
                #expect(uses.map(\.name) == ["a", "b"])
                #expect(uses.map(\.used) == [3, 1] && uses.map(\.limit) == [5, nil])

                async let reloading = client.administration.reloadConfiguration()
                let reload: Reload = try await connection.expect()
                connection.send(Reloaded(request: reload.request, pendingSettings: ["socket"], problem: "not repaired"))
                let outcome = try await reloading
                #expect(outcome.pendingSettings == ["socket"] && outcome.problem == "not repaired")

                let refused = Task { try await client.administration.reloadConfiguration() }
                let again: Reload = try await connection.expect()
                connection.send(
                    ErrorFrame(request: again.request, code: .configurationInvalid, message: "n.yaml:2: bad"))
                let refusal = await #expect(throws: NotifyError.self) { try await refused.value }
                #expect(refusal?.code == .configurationInvalid)

                async let checked = client.administration.check()
                let check: CheckRequest = try await connection.expect()
                #expect(!check.isFull)
                connection.send(
                    CheckReport(
                        request: check.request, isFull: false, damagedMessages: 2, problemCount: 1,
                        damagedRanges: [SequenceRange(first: 7, last: 8)], problems: [LogProblem(.name, "bad")]))
                let found = try await checked
                #expect(!found.isSound && found.sound == nil)
                #expect(found.damagedSequences == [7...8])
                #expect(found.problems.map(\.part) == [.name])

                let percent = LateValue<Int>()
                async let full = client.administration.check(full: true) { percent.value = $0 }
                let fullCheck: CheckRequest = try await connection.expect()
                #expect(fullCheck.isFull)
                connection.send(CheckProgress(request: fullCheck.request, percent: 42))
                connection.send(
                    CheckReport(
                        request: fullCheck.request, isFull: true, messages: 5, damagedMessages: 0, problemCount: 0,
                        damagedRanges: [], problems: []))
                #expect(try await full.sound?.messages == 5)
                #expect(percent.value == 42)

                async let asked = client.administration.policyDecision(
                    on: .subscribe, "hr.>", for: .init(uid: 7, gid: 8, groups: [9, 10]))
                let query: PolicyQuery = try await connection.expect()
                #expect(
                    query
                        == PolicyQuery(
                            request: query.request, uid: 7, gid: 8, groups: [9, 10], right: .subscribe, name: "hr.>"))
                connection.send(PolicyDecision(request: query.request, isAllowed: false, reason: "rule"))
                #expect(try await asked == .init(isAllowed: false, reason: "rule"))
            }
        }
    }

    @Test func `invalid arguments are refused before anything is sent`() async throws {
        let client = NotificationClient(configuration: .test("/nowhere"))
        func code(_ body: () async throws -> Void) async -> NotifyError.Code? {
            do {
                try await body()
                return nil
            } catch {
                return (error as? NotifyError)?.code
            }
        }
        let long = String(repeating: "x", count: 256)
        #expect(await code { try await client.post("a..b") } == .invalidName)
        #expect(
            await code { try await client.administration.removeDurableSubscription("a", uid: .max) } == .invalidArgument
        )
        #expect(await code { try await client.post("a", object: long) } == .invalidObject)
        #expect(await code { try await client.post("a", headers: ["k": "1", "k": "2"]) } == .invalidHeaders)
        #expect(await code { try await client.post("a", json: Double.nan) } == .coding)
        #expect(await code { _ = try await client.subscribe(to: ["a.>.b"]) } == .invalidPattern)
        #expect(await code { _ = try await client.subscribe(to: []) } == .invalidArgument)
        #expect(
            await code { _ = try await client.subscribe(to: [">"], as: .durable("a b")) } == .invalidSubscriptionName)
        #expect(
            await code { _ = try await client.subscribe(to: [">"], as: .durable("a", window: 0)) } == .invalidArgument)
        #expect(await code { _ = try await client.subscribe(to: [">"], limit: 0) } == .invalidArgument)
        #expect(
            await code { try await client.administration.removeDurableSubscription("") } == .invalidSubscriptionName)
    }

    @Test func `cancelled tasks return, even if they were cancelled before they began`() async throws {
        let client = NotificationClient(configuration: .test("/nowhere"))
        for isEarly in [true, false] {
            let tasks: [Task<NotifyError.Code?, Never>] = [
                Task { await Self.code(isEarly) { try await client.post("a") } },
                Task { await Self.code(isEarly) { try await client.send("a") } },
                Task { await Self.code(isEarly) { try await client.ping() } },
                Task { await Self.code(isEarly) { _ = try await client.subscribe(to: [">"]) } },
            ]
            for task in tasks {
                task.cancel()
                #expect(await task.value == .cancelled)
            }
        }
    }

    private static func code(_ isEarly: Bool, _ body: () async throws -> Void) async -> NotifyError.Code? {
        if isEarly { withUnsafeCurrentTask { $0?.cancel() } }
        do {
            try await body()
            return nil
        } catch {
            return (error as? NotifyError)?.code
        }
    }

    @Test func `a slow consumer does not delay others`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let served: FakeConnection = {
                    let connection = try await daemon.accept()
                    try await connection.acceptSubscription()
                    let payload = String(repeating: "x", count: 1000)
                    for start in stride(from: UInt64(1), to: 20_000, by: 100) {
                        connection.send { buffer in
                            for sequence in start..<start + 100 { buffer.writeDelivery(sequence, payload: payload) }
                        }
                    }
                    let post = try await connection.expectPost()
                    connection.sendReceipt(post.request)
                    return connection
                }()
                let subscription = try await client.subscribe(to: [">"], as: .volatile(bufferedMessages: 100))
                // 20 MB of messages that the consumer does not take precede the receipt.
                try await client.post("a.b")
                let connection = try await served
                var iterator = subscription.makeAsyncIterator()
                guard case .gap(let gap)? = try await iterator.next() else {
                    Issue.record("no gap was reported")
                    return
                }
                #expect(gap == .init(reason: .consumerTooSlow, missed: 19_900, sequences: 1...19_900))
                #expect(subscription.droppedCount == 19_900)
                guard case .message(let message)? = try await iterator.next() else {
                    Issue.record("no message was delivered")
                    return
                }
                #expect(message.sequence == 19_901)
                try await subscription.leave()
                #expect(connection.reportedDrops == 19_900)
            }
        }
    }

    @Test func `a consumer that pauses reading drops nothing and can post and unsubscribe`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                let count: UInt64 = 20_000
                async let served: Void = {
                    let connection = try await daemon.accept()
                    for _ in 0..<2 { try await connection.acceptSubscription() }
                    let payload = String(repeating: "x", count: 1000)
                    for start in stride(from: UInt64(1), to: count, by: 100) {
                        connection.send { buffer in
                            for sequence in start..<start + 100 { buffer.writeDelivery(sequence, payload: payload) }
                        }
                    }
                    // The client sends the post while it does not read from the connection. After the detach request,
                    // the client reads again until the request is confirmed.
                    #expect(try await connection.expectPost().text == "while paused")
                    try await connection.expectDetach()
                }()
                let kind = NotificationClient.SubscriptionKind.volatile(bufferedMessages: 100, whenFull: .pauseReading)
                let subscription = try await client.subscribe(to: ["a.b"], as: kind)
                let other = try await client.subscribe(to: ["none"])
                var iterator = subscription.makeAsyncIterator()
                guard case .message(let first)? = try await iterator.next() else {
                    Issue.record("no message was delivered")
                    return
                }
                #expect(first.sequence == 1)
                try await client.send("a.b", "while paused")
                try await other.leave()
                try await served
                for sequence in 2...count {
                    guard case .message(let message)? = try await iterator.next(), message.sequence == sequence else {
                        Issue.record("message \(sequence) was not delivered")
                        return
                    }
                }
                #expect(subscription.droppedCount == 0)
            }
        }
    }

    @Test func `releasing a subscription ends it`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let accepted = daemon.accept()
                let subscribing = Task { try await client.subscribe(to: [">"]).droppedCount }
                let connection = try await accepted
                try await connection.acceptSubscription()
                _ = try await subscribing.value
                // The task has ended, and with it the only reference to the subscription.
                try await connection.expectDetach()
            }
        }
    }

    @Test func `changes of the connection are reported`() async throws {
        try await FakeDaemon.run { daemon in
            let changes = Inbox<Bool>()
            var configuration = NotificationClient.Configuration.test(daemon.path)
            configuration.onConnectionChange = { change in
                switch change {
                case .connected(let version):
                    #expect(version == "fake")
                    changes.put(true)
                case .disconnected:
                    changes.put(false)
                }
            }
            try await withNotificationClient(configuration: configuration) { _ in
                let connection = try await daemon.accept()
                #expect(try await changes.next())
                try await connection.close()
                #expect(try await changes.next() == false)
                _ = try await daemon.accept()
                #expect(try await changes.next())
            }
        }
    }
}
