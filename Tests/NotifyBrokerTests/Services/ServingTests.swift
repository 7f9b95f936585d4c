import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Servers: who may serve what, and what remains of a server that ends.
struct ServingTests {
    private let host = TestHost()

    /// Returns the code of the error with which a serve is refused; nil if it is accepted.
    private func refusal(_ client: Client, _ patterns: [String], number: UInt32 = 1, concurrency: UInt32 = 1)
        -> ErrorCode?
    {
        client.serve(number, patterns, concurrency: concurrency)
        host.run()
        for received in client.take() {
            if case .error(let error) = received { return ErrorCode(rawValue: error.code) }
        }
        return nil
    }

    @Test func `a user may serve its own names, and root every name`() {
        let (alice, root, daemon) = (host.connect(uid: 1000), host.connect(uid: 0), host.connect(uid: 1))
        #expect(refusal(alice, ["user.1000.a", "user.1000.b.>"]) == nil)
        #expect(refusal(alice, ["user.1000"], number: 2) == nil)
        #expect(refusal(alice, ["user.1001.a"], number: 3) == .forbidden)
        #expect(refusal(alice, ["user.*.a"], number: 3) == .forbidden)
        #expect(refusal(alice, ["user.>"], number: 3) == .forbidden)
        #expect(refusal(alice, ["jobs"], number: 3) == .forbidden)
        #expect(refusal(alice, [">"], number: 3) == .forbidden)
        #expect(refusal(root, ["jobs.>"]) == nil)
        #expect(refusal(root, ["notifyd.a"], number: 2) == .forbidden, "nobody may ask these names")
        #expect(refusal(daemon, ["a"]) == .forbidden)
    }

    @Test func `a rule permits serving other names`() {
        let rules = [
            AccessRule(.allow, [.serve], names: ["jobs.>"], uids: [1000]),
            AccessRule(.deny, [.serve], names: ["jobs.secret"]),
        ]
        let host = TestHost(policy: AccessPolicy(rules: rules))
        let alice = host.connect(uid: 1000)
        alice.serve(1, ["jobs.a", "jobs.b.*"])
        alice.serve(2, ["jobs.*"])
        host.run()
        #expect(
            alice.takeErrors().map(\.message) == [
                "user 1000 may not serve 'jobs.*': some of these names are denied by default rule; "
                    + "serve names under user.1000, or add a rule in policy.d that allows it"
            ])
    }

    @Test func `the servers of a user hold at most 65,536 calls together`() {
        let root = host.connect(uid: 0)
        for number in 1...3 as ClosedRange<UInt32> {
            #expect(refusal(root, ["a"], number: number, concurrency: 16_384) == nil)
        }
        root.serve(4, ["a"], concurrency: 16_383)
        root.serve(5, ["a"], concurrency: 2)
        host.run()
        #expect(
            root.takeErrors().map(\.message) == [
                "the servers of root may hold 65536 calls together, and this one would add 2: lower its concurrency"
            ])
        #expect(refusal(root, ["a"], number: 5, concurrency: 1) == nil)
        #expect(refusal(host.connect(uid: 1000), ["user.1000.a"]) == nil, "other users have limits of their own")
    }

    @Test func `a pattern that overlaps with another user's is refused, and names the holder's pid`() throws {
        let root = host.connect(uid: 0, pid: 40)
        let alice = host.connect(uid: 1000, pid: 50)
        #expect(refusal(alice, ["user.1000.a.*"]) == nil)
        root.serve(1, ["user.*.a.x"])
        host.run()
        let error = try #require(root.takeErrors().first)
        #expect(error.code == ErrorCode.serviceHeld.rawValue && error.detail == 50)
        #expect(refusal(root, ["user.*.b"]) == nil, "no name matches both")
        #expect(refusal(alice, ["user.1000.b"], number: 2) == .serviceHeld)
        let other = host.connect(uid: 1000)
        #expect(refusal(other, ["user.1000.a.x"]) == nil, "servers of one user share")
        host.closed(root)
        #expect(refusal(alice, ["user.1000.b"], number: 2) == nil)
    }

    @Test func `invalid servers are refused`() {
        let root = host.connect(uid: 0)
        #expect(refusal(root, ["a"], number: 0) == .subscriptionInUse)
        #expect(refusal(root, [], number: 1) == .invalidPattern)
        #expect(refusal(root, ["a..b"], number: 1) == .invalidPattern)
        #expect(refusal(root, ["a"], number: 1, concurrency: 0) == .invalidArgument)
        #expect(refusal(root, ["a"], number: 1, concurrency: Limits.maximumConcurrency + 1) == .invalidArgument)
        #expect(refusal(root, ["a"], number: 1, concurrency: Limits.maximumConcurrency) == nil)
        #expect(refusal(root, ["b"], number: 1) == .subscriptionInUse)
        root.endServing(2)
        host.run()
        #expect(root.takeErrors().map(\.code) == [ErrorCode.unknownSubscription.rawValue])
    }

    @Test func `servers count as subscriptions, and leave nothing behind`() {
        var configuration = BrokerConfiguration()
        configuration.subscriptionsPerUser = 3
        configuration.subscriptionsPerConnection = 2
        let host = TestHost(configuration)
        let (first, second) = (host.connect(), host.connect())
        for number in 1...3 as ClosedRange<UInt32> { first.serve(number, ["user.1000.\(number)"]) }
        second.subscribe(1, ["a"])
        second.serve(2, ["user.1000.x"])
        host.run()
        #expect(first.takeErrors().map(\.code) == [ErrorCode.limitReached.rawValue])
        #expect(second.takeErrors().map(\.code) == [ErrorCode.limitReached.rawValue])
        #expect(host.counter("servers") == 2)
        first.endServing(1)
        second.serve(3, ["user.1000.x"])
        host.run()
        #expect(first.take() == [.servingEnded(ServingEnded(request: 4, server: 1))])
        #expect(second.take() == [.serving(Serving(request: 3, server: 3))])
        host.closed(first)
        host.closed(second)
        host.run()
        #expect(host.holdsNothing(1000) && host.counter("servers") == 0)
    }

    // MARK: Rights that change

    private static func may(_ uids: Set<UInt32>, _ names: NamePattern...) -> [AccessRule] {
        [AccessRule(.allow, [.serve], names: names, uids: uids)]
    }

    @Test func `a server that may serve some of its names only holds these`() {
        let host = TestHost(policy: AccessPolicy(rules: Self.may([1000, 1001], "jobs.>", "mail", "news.*")))
        let (first, second) = (host.connect(uid: 1000), host.connect(uid: 1001))
        first.serve(1, ["jobs.*", "mail", "news.*"])
        host.run()
        let denied: [NamePattern] = ["jobs.a", "news.*"]
        let denial = AccessRule(.deny, [.serve], names: denied, uids: [1000])
        let rules = Self.may([1000, 1001], "jobs.>", "mail", "news.*") + [denial]
        host.core.broker.policyChanged(to: AccessPolicy(generation: 1, rules: rules))
        for (number, pattern) in zip((1 as UInt32)..., ["mail", "jobs.b", "jobs.*", "*.b"]) {
            second.serve(number, [pattern])
        }
        host.run()
        let held = ErrorCode.serviceHeld.rawValue
        #expect(second.takeErrors().map(\.code) == [held, held, held, ErrorCode.forbidden.rawValue])
        second.serve(1, ["jobs.a", "jobs.a.>", "news.*"])
        host.run()
        #expect(second.take() == [.serving(Serving(request: 5, server: 1))])
        for name in ["jobs.a", "jobs.b", "news.x", "mail"] { second.ask(name) }
        host.run()
        #expect(first.takeCalls().map(\.name) == ["jobs.b"], "its concurrency is 1")
        #expect(second.takeCalls().map(\.name) == ["jobs.a"])
    }

    @Test func `if servers of two users may serve a name, the first one has it until it ends`() {
        let rules = Self.may([1000, 1001], "jobs")
        let host = TestHost(policy: AccessPolicy(rules: rules))
        let (first, second, asker) = (host.connect(uid: 1000), host.connect(uid: 1001), host.connect(uid: 1002))
        first.serve(1, ["jobs"], concurrency: 2)
        host.run()
        _ = first.take()
        host.core.broker.policyChanged(to: AccessPolicy(generation: 1, rules: Self.may([1001], "jobs")))
        second.serve(1, ["jobs"])
        for _ in 0..<2 { asker.ask("jobs") }
        host.run()
        #expect(first.takeCalls().isEmpty)
        #expect(second.takeCalls().count == 1)
        // The waiting request goes back to the first user, and the one in progress stays.
        host.core.broker.policyChanged(to: AccessPolicy(generation: 2, rules: rules))
        host.run()
        for _ in 0..<2 { asker.ask("jobs") }
        host.run()
        let calls = first.takeCalls()
        #expect(calls.count == 2 && second.takeCalls().isEmpty)
        // The third request waits for the first user's server. When it ends, the second user's may get it.
        first.endServing(1)
        host.run()
        #expect(second.takeCalls().isEmpty, "it holds a request")
        for call in calls { first.respond(call.call, .replied) }
        host.closed(second)
        host.run()
        let errors = asker.takeErrors().map { ErrorCode(rawValue: $0.code) }
        #expect(errors == [.serverGone, .noResponders])
    }

    @Test(arguments: [false, true])
    func `requests that wait for a server that ends go to the server of another user`(_ closes: Bool) {
        let rules = Self.may([1000, 1001], "jobs")
        let host = TestHost(policy: AccessPolicy(rules: rules))
        let (first, second, asker) = (host.connect(uid: 1000), host.connect(uid: 1001), host.connect(uid: 1002))
        first.serve(1, ["jobs"])
        host.run()
        host.core.broker.policyChanged(to: AccessPolicy(generation: 1, rules: Self.may([1001], "jobs")))
        second.serve(1, ["jobs"], concurrency: 2)
        host.run()
        host.core.broker.policyChanged(to: AccessPolicy(generation: 2, rules: rules))
        for number in 1...3 as ClosedRange<UInt8> { asker.ask("jobs", payload: [number]) }
        host.run()
        #expect(first.takeCalls().map(\.payload) == [[1]])
        #expect(second.takeCalls().isEmpty)
        if closes { host.closed(first) } else { first.endServing(1) }
        host.run()
        #expect(second.takeCalls().map(\.payload) == [[2], [3]])
        asker.ask("jobs", payload: [4])
        host.run()
        #expect(first.takeCalls().isEmpty)
        for client in closes ? [second, asker] : [second, first, asker] { host.closed(client) }
        host.run()
        #expect(host.holdsNothing(1000) && host.holdsNothing(1001) && host.holdsNothing(1002))
    }

    @Test func `a request that was sent to another user's server does not go back to the first user's`() throws {
        let rules = Self.may([1000, 1001], "jobs.*")
        let host = TestHost(policy: AccessPolicy(rules: rules))
        let (first, second, asker) = (host.connect(uid: 1000), host.connect(uid: 1001), host.connect(uid: 1002))
        // Each user serves while the other one may not, so that the second user's service is between the first user's.
        first.serve(1, ["jobs.*"])
        host.run()
        host.core.broker.policyChanged(to: AccessPolicy(generation: 1, rules: Self.may([1001], "jobs.*")))
        second.serve(1, ["jobs.a"])
        host.run()
        host.core.broker.policyChanged(to: AccessPolicy(generation: 2, rules: Self.may([1000], "jobs.*")))
        first.serve(2, ["jobs.a"])
        host.run()
        host.core.broker.policyChanged(to: AccessPolicy(generation: 3, rules: rules))
        for number in 1...4 as ClosedRange<UInt8> { asker.ask("jobs.a", payload: [number]) }
        host.run()
        let held = first.takeCalls()
        #expect(held.map(\.payload) == [[1], [2]])
        #expect(second.takeCalls().isEmpty)
        // Now the second user's service is the first one that matches.
        first.endServing(1)
        host.run()
        let call = try #require(second.takeCalls().first)
        #expect(call.payload == [3])
        for call in held { first.respond(call.call) }
        host.run()
        #expect(first.takeCalls().isEmpty)
        second.respond(call.call, .returned)
        host.run()
        #expect(second.takeCalls().map(\.payload) == [[4]])
        #expect(first.takeCalls().isEmpty)
        #expect(asker.takeErrors().map(\.code) == [ErrorCode.noResponders.rawValue], "no other server may get it")
    }

    @Test func `a server that loses the right gets no further requests`() {
        let rules = [AccessRule(.allow, [.serve], names: ["jobs"], uids: [1000])]
        let host = TestHost(policy: AccessPolicy(rules: rules))
        let (server, asker) = (host.connect(uid: 1000), host.connect(uid: 1001))
        server.serve(1, ["jobs"])
        for _ in 0..<2 { asker.ask("jobs") }
        host.run()
        #expect(server.takeCalls().count == 1)
        host.core.broker.policyChanged(to: AccessPolicy(generation: 1))
        host.run()
        #expect(asker.takeErrors().map(\.code) == [ErrorCode.noResponders.rawValue], "the second one waited")
        asker.ask("jobs")
        host.run()
        #expect(asker.takeErrors().map(\.code) == [ErrorCode.noResponders.rawValue])
    }
}
