import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Requests about the configuration and the policy.
struct AdministrationTests {
    private static let rules = [
        AccessRule(.deny, [.post, .subscribe], names: ["hr.>"]),
        AccessRule(.allow, [.manage], names: [">"], uids: [1000]),
    ]

    @Test func `a reload is requested from the host and answered with its outcome`() throws {
        let host = TestHost()
        let root = host.connect(uid: 0)
        root.send(Reload(request: root.nextRequest()))
        host.run()
        let (id, request) = try #require(host.reloadRequests.first)
        host.core.broker.configurationReloaded(for: id, request: request, pendingSettings: ["socket"], error: nil)
        host.run()
        #expect(
            root.take().compactMap { if case .reloaded(let frame) = $0 { frame } else { nil } } == [
                Reloaded(request: 1, pendingSettings: ["socket"])
            ])
        host.core.broker.configurationReloaded(
            for: id, request: request, pendingSettings: [], error: nil, problem: "not repaired")
        let error = WireError(.configurationInvalid, "n.yaml:2: bad")
        host.core.broker.configurationReloaded(for: id, request: request, pendingSettings: [], error: error)
        host.core.broker.configurationReloaded(
            for: id, request: request, pendingSettings: [], error: error, problem: "not repaired")
        host.run()
        let frames = root.take()
        #expect(
            frames.compactMap { if case .reloaded(let frame) = $0 { frame.problem } else { nil } } == ["not repaired"])
        #expect(
            frames.compactMap { if case .error(let frame) = $0 { frame.message } else { nil } } == [
                "n.yaml:2: bad", "n.yaml:2: bad; besides, not repaired",
            ])
        host.closed(root)
        host.core.broker.configurationReloaded(for: id, request: request, pendingSettings: [], error: nil)
    }

    @Test func `a reload needs the right to manage everything`() {
        let host = TestHost(policy: AccessPolicy(daemonUID: 5, rules: Self.rules))
        for (uid, isAllowed) in [(UInt32(0), true), (5, true), (1000, true), (1001, false)] {
            let client = host.connect(uid: uid)
            let before = host.reloadRequests.count
            client.send(Reload(request: client.nextRequest()))
            host.run()
            #expect((host.reloadRequests.count > before) == isAllowed)
            #expect(client.takeErrors().map(\.code) == (isAllowed ? [] : [ErrorCode.forbidden.rawValue]))
        }
    }

    @Test(arguments: [
        (Right.post, "hr.pay", false), (.post, "a", true), (.subscribe, "hr.>", false), (.subscribe, ">", true),
        (.manage, ">", false), (.post, "notifyd.a", false), (.subscribe, "notifyd.limits.>", false),
    ])
    func `a policy query is answered with the policy's decision`(_ right: Right, _ name: String, _ isAllowed: Bool) {
        let host = TestHost(policy: AccessPolicy(rules: Self.rules))
        let client = host.connect(uid: 1001)
        client.send(PolicyQuery(request: 1, uid: 1001, gid: 1, groups: [2], right: right, name: name))
        host.run()
        let decisions = client.take().compactMap { if case .policyDecision(let frame) = $0 { frame } else { nil } }
        #expect(decisions.map(\.isAllowed) == [isAllowed])
        #expect(decisions.allSatisfy { !$0.reason.isEmpty })
    }

    @Test func `the groups in a policy query count only for managers`() {
        let rules = [
            AccessRule(.deny, [.post], names: ["hr.>"]), AccessRule(.allow, [.post], names: ["hr.>"], gids: [50]),
        ]
        let host = TestHost(policy: AccessPolicy(rules: rules))
        func decision(_ client: Client, _ groups: [UInt32]) -> PolicyDecision? {
            let request = client.nextRequest()
            client.send(
                PolicyQuery(request: request, uid: 1000, gid: 1000, groups: groups, right: .post, name: "hr.a"))
            host.run()
            return client.take().compactMap { if case .policyDecision(let frame) = $0 { frame } else { nil } }.first
        }
        let (root, stranger) = (host.connect(uid: 0), host.connect(uid: 1000))
        let member = host.connect(uid: 1000, groups: [50])
        #expect(decision(root, [50])?.isAllowed == true && decision(root, [])?.isAllowed == false)
        #expect(decision(stranger, [50])?.isAllowed == false, "claimed groups must not reveal rules")
        #expect(decision(member, [])?.isAllowed == true)
        #expect(decision(root, [50])?.reason.contains("gids: [50]") == true)
        #expect(decision(member, [])?.reason == "allowed by default rule")
    }

    @Test func `a policy query with too many groups is refused`() {
        let host = TestHost()
        let root = host.connect(uid: 0)
        root.send(
            PolicyQuery(
                request: 1, uid: 7, gid: 1, groups: [UInt32](repeating: 3, count: PolicyQuery.maximumGroups + 1),
                right: .post, name: "a"))
        host.run()
        #expect(root.takeErrors().map(\.code) == [ErrorCode.invalidArgument.rawValue])
    }

    @Test func `only managers may ask about the rights of other users`() {
        let host = TestHost(policy: AccessPolicy(rules: Self.rules))
        for (uid, isAllowed) in [(UInt32(1000), true), (1001, false)] {
            let client = host.connect(uid: uid)
            client.send(PolicyQuery(request: 1, uid: 7, gid: 1, groups: [], right: .post, name: "a"))
            host.run()
            #expect(client.takeErrors().isEmpty == isAllowed)
        }
    }

    @Test(arguments: [(Right.post, "a.*", ErrorCode.invalidName), (.subscribe, "a..b", .invalidPattern)])
    func `a policy query about an invalid name is refused`(_ right: Right, _ name: String, _ code: ErrorCode) {
        let host = TestHost()
        let client = host.connect(uid: 1000)
        client.send(PolicyQuery(request: 1, uid: 1000, gid: 1, groups: [], right: right, name: name))
        host.run()
        #expect(client.takeErrors().map(\.code) == [code.rawValue])
    }
}
