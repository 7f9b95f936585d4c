import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Creating durable subscriptions without attaching to them, and removing them with their members.
struct CreatingTests {
    private let host = TestHost()

    @discardableResult
    private func create(
        _ client: Client, _ patterns: [String] = ["a"], object: String = "", from start: LogPosition = .now,
        sharing: DurableSharing = .exclusive
    ) -> UInt64 {
        let request = client.nextRequest()
        client.send(
            Subscribe(
                request: request, subscription: 1, patterns: patterns, object: object, durableName: "inbox",
                start: start, sharing: sharing, creation: .only))
        return request
    }

    /// The answers to the client: for each one, whether the subscription existed, or the code of an error.
    private func answers(_ client: Client) -> [String] {
        client.take().compactMap { frame in
            switch frame {
            case .durableDescription(let description): description.existed ? "exists" : "created"
            case .error(let error): "\(error.code)"
            default: nil
            }
        }
    }

    @Test func `a request creates a subscription once, and never attaches`() {
        let client = host.connect()
        for expected in ["created", "exists", "exists"] {
            create(client)
            host.run()
            #expect(answers(client) == [expected])
        }
        #expect(host.durable("inbox")?.memberCount == 0)
        #expect(host.durable("inbox")?.lastAttachment == LastAttachment())
        #expect(host.store.subscription(named: "inbox")?.progress.isAttached == false)
        client.post("a")
        host.run()
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        #expect(client.takeMessages().count == 1)
    }

    @Test func `a request that must not create a subscription attaches to it, or is refused`() {
        let client = host.connect()
        func attach(_ number: UInt32) {
            client.send(
                Subscribe(
                    request: client.nextRequest(), subscription: number, patterns: ["a"], durableName: "inbox",
                    start: .age(microseconds: 1), creation: .never))
            host.run()
        }
        attach(1)
        #expect(client.takeErrors().map(\.code) == [ErrorCode.unknownSubscription.rawValue])
        #expect(host.durable("inbox") == nil)
        create(client)
        host.run()
        _ = client.take()
        attach(1)
        #expect(host.durable("inbox")?.memberCount == 1)
        #expect(client.takeErrors().isEmpty)
    }

    @Test func `simultaneous requests to create and to attach all succeed`() {
        for attachesAt in 0..<3 {
            let host = TestHost()
            let clients = (0..<3).map { _ in host.connect() }
            for (index, client) in clients.enumerated() {
                if index == attachesAt { client.subscribe(1, ["a"], durable: "inbox") } else { create(client) }
                // The first request is being committed when the last one arrives.
                if index == 1 { host.tick() }
            }
            host.run()
            let all = clients.map { $0.take() }
            for (index, frames) in all.enumerated() {
                let isAnswered = frames.contains { frame in
                    switch frame {
                    case .subscribed: index == attachesAt
                    case .durableDescription(let description): description.existed == (index > 0)
                    default: false
                    }
                }
                #expect(isAnswered && frames.count == 1, "\(frames)")
            }
            #expect(host.durable("inbox")?.memberCount == 1)
        }
    }

    @Test func `a request to create a subscription that another client holds reports that it exists`() {
        let (holder, other) = (host.connect(), host.connect())
        holder.subscribe(1, ["a"], durable: "inbox")
        host.run()
        _ = holder.take()
        create(other)
        host.run()
        #expect(answers(other) == ["exists"])
        other.post("a")
        host.run()
        #expect(holder.takeMessages().count == 1)
    }

    @Test func `a request to create an existing subscription with another filter or sharing is refused`() {
        let client = host.connect()
        create(client)
        host.run()
        _ = client.take()
        create(client, ["b"])
        create(client, object: "o")
        create(client, sharing: .group)
        create(client, ["a..b"])
        host.run()
        let mismatch = "\(ErrorCode.subscriptionMismatch.rawValue)"
        #expect(answers(client) == [mismatch, mismatch, mismatch, "\(ErrorCode.invalidPattern.rawValue)"])
    }

    @Test func `requests for a subscription whose creation fails are refused`() {
        let clients = (0..<3).map { _ in host.connect() }
        create(clients[0])
        host.tick()
        create(clients[1])
        clients[2].subscribe(1, ["a"], durable: "inbox")
        host.work(failingWith: .broken)
        host.advance(.seconds(2))
        host.run()
        #expect(clients.map { $0.takeErrors().count } == [1, 1, 1])
        #expect(host.durable("inbox") == nil && host.store.subscriptions.isEmpty)
        #expect(host.counter("durable_subscriptions") == 0)
    }

    @Test(arguments: [false, true])
    func `a failed creation refuses each pending request for the subscription once`(_ isAttachment: Bool) {
        let clients = (0..<3).map { _ in host.connect() }
        if isAttachment { clients[0].subscribe(1, ["a"], durable: "inbox") } else { create(clients[0]) }
        host.tick()
        for client in clients.dropFirst() { create(client) }
        host.work(failingWith: .full)
        host.runTicks()
        let full = ErrorCode.logFull.rawValue
        #expect(clients.map { $0.takeErrors().map(\.code) } == [[full], [full], [full]])
        #expect(clients.allSatisfy { host.connection($0).pendingAnswers == 0 })
        host.advance(.seconds(2))
        host.run()
        #expect(clients.allSatisfy { $0.take().isEmpty && host.connection($0).pendingAnswers == 0 })
        #expect(host.durable("inbox") == nil && host.store.subscriptions.isEmpty)
    }

    @Test func `a created subscription may start at a time in the past`() {
        let client = host.connect()
        for _ in 0..<3 { client.post("a", .stored) }
        host.run()
        _ = client.take()
        create(client, from: .age(microseconds: 1_000_000))
        host.run()
        #expect(answers(client) == ["created"])
        #expect(host.durable("inbox")?.position == 0)
    }

    // MARK: Removing

    @Test func `a refused removal names the processes that hold the subscription`() {
        for pid in 1...10 as ClosedRange<UInt32> {
            host.connect(pid: pid).subscribe(1, ["a"], durable: "inbox", sharing: .group)
        }
        host.run()
        let client = host.connect()
        client.remove("inbox")
        host.run()
        let error = client.takeErrors().first
        #expect(error?.code == ErrorCode.subscriptionInUse.rawValue)
        #expect(
            error?.message
                == "durable subscription 'inbox' is held by processes 1, 2, 3, 4, 5, 6, 7, 8 and 2 more: end them first, "
                + "or use 'notifyctl durable remove inbox --force'")
    }

    @Test func `a removal that ends the members sends each an error, and keeps their connections`() {
        let members = (0..<2).map { _ in host.connect() }
        for member in members { member.subscribe(4, ["a"], durable: "inbox", sharing: .group) }
        host.run()
        for member in members { _ = member.take() }
        let client = host.connect()
        let request = client.nextRequest()
        client.send(Remove(request: request, endsMembers: true, durableName: "inbox"))
        host.run()
        #expect(client.take() == [.removed(Removed(request: request))])
        for member in members {
            let errors = member.takeErrors()
            #expect(errors.map(\.subscription) == [4])
            #expect(errors.map(\.code) == [ErrorCode.unknownSubscription.rawValue])
            #expect(!member.isClosed)
        }
        #expect(host.store.subscriptions.isEmpty)
    }
}
