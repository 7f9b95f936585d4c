import NotifyCenter
import NotifyLog
import NotifyWire
import Testing

/// Configured rules. They follow the default rules, and the last rule that matches decides.
@Suite struct AccessRulesTests {
    private let alice = Identity(uid: 1000, gid: 1000, groups: [50, 60])
    private let bob = Identity(uid: 1001, gid: 1001)
    private let root = Identity(uid: 0, gid: 0)

    private func mayPost(_ name: String, _ identity: Identity, _ rules: [AccessRule]) -> Bool {
        let policy = AccessPolicy(rules: rules)
        return Array(name.utf8).withUnsafeBytes { policy.mayPost($0, identity) }
    }

    private func maySubscribe(_ pattern: NamePattern, _ identity: Identity, _ rules: [AccessRule]) -> Bool {
        AccessPolicy(rules: rules).maySubscribe(pattern, identity)
    }

    @Test func `the last rule that matches decides`() {
        let rules = [
            AccessRule(.deny, [.post], names: ["hr.>"]),
            AccessRule(.allow, [.post], names: ["hr.public.>"]),
            AccessRule(.deny, [.post], names: ["hr.public.*"], uids: [1001]),
        ]
        #expect(!mayPost("hr.pay", alice, rules))
        #expect(mayPost("hr.public.a", alice, rules))
        #expect(!mayPost("hr.public.a", bob, rules))
        #expect(mayPost("hr.public.a.b", bob, rules))
        #expect(mayPost("hr", bob, rules), "hr.> does not match hr")
    }

    @Test func `a rule for groups applies to primary and supplementary groups`() {
        let deny = AccessRule(.deny, [.post], names: ["hr.>"])
        for (gid, allowed) in [(UInt32(1000), true), (50, true), (60, true), (61, false)] {
            let rules = [deny, AccessRule(.allow, [.post], names: ["hr.>"], gids: [gid])]
            #expect(mayPost("hr.a", alice, rules) == allowed)
            #expect(!mayPost("hr.a", bob, rules))
        }
    }

    @Test func `a rule applies to peers with one of its uids or groups`() {
        let rules = [
            AccessRule(.deny, [.post], names: [">"]),
            AccessRule(.allow, [.post], names: ["a"], uids: [1001], gids: [60]),
        ]
        #expect(mayPost("a", alice, rules) && mayPost("a", bob, rules) && !mayPost("a", root, rules))
    }

    @Test func `a rule affects only the rights that it names`() {
        let rules = [AccessRule(.deny, [.post], names: ["a"])]
        #expect(!mayPost("a", alice, rules))
        #expect(maySubscribe("a", alice, rules))
    }

    @Test func `the token $uid matches the peer's uid only`() {
        let rules = [
            AccessRule(.deny, [.post], names: ["home.>"]),
            AccessRule(.allow, [.post], names: ["home.*.$uid", "home.$uid.$uid.>"]),
        ]
        #expect(mayPost("home.x.1000", alice, rules))
        #expect(!mayPost("home.x.1000", bob, rules))
        #expect(!mayPost("home.x.01000", alice, rules))
        #expect(!mayPost("home.x.$uid", alice, rules))
        #expect(mayPost("home.1000.1000.a", alice, rules))
        #expect(!mayPost("home.1000.1001.a", alice, rules))
        #expect(!mayPost("home.1000.1001.a", bob, rules))
    }

    @Test func `no rule grants posting under the daemon's names`() {
        let rules = [AccessRule(.allow, [.post], names: ["notifyd.>", ">"])]
        #expect(!mayPost("notifyd.a", root, rules))
    }

    @Test func `a pattern with a wildcard in first position does not match the daemon's names`() {
        #expect(!maySubscribe("notifyd.a", alice, [AccessRule(.allow, [.subscribe], names: [">", "*.a"])]))
        #expect(maySubscribe("notifyd.a", alice, [AccessRule(.allow, [.subscribe], names: ["notifyd.*"])]))
        #expect(maySubscribe("notifyd.a", root, [AccessRule(.deny, [.subscribe], names: ["*.a"])]))
    }

    @Test func `a subscription is refused if it can receive nothing`() {
        let rules = [
            AccessRule(.deny, [.subscribe], names: ["hr.>"]),
            AccessRule(.allow, [.subscribe], names: ["hr.public.*"], uids: [1000]),
        ]
        for pattern: NamePattern in ["hr.>", "hr.*.*", "hr.public.>", "hr.public.a", "*.public.*", ">"] {
            #expect(maySubscribe(pattern, alice, rules))
        }
        for pattern: NamePattern in ["hr.pay", "hr.*", "hr.pay.>", "hr.public.a.b", "hr.public.a.>"] {
            #expect(!maySubscribe(pattern, alice, rules))
        }
        #expect(!maySubscribe("hr.public.a", bob, rules))
        #expect(maySubscribe(">", bob, rules))
    }

    @Test func `managing the names of a pattern requires the right to all of them`() {
        let rules = [
            AccessRule(.allow, [.manage], names: ["logs.>", "logs"], uids: [1000]),
            AccessRule(.deny, [.manage], names: ["logs.audit.>"]),
        ]
        let policy = AccessPolicy(rules: rules)
        func mayManage(_ pattern: NamePattern, _ identity: Identity) -> Bool {
            policy.manageDecision(pattern, identity).isAllowed
        }
        #expect(mayManage("logs.app.>", alice) && mayManage("logs", alice) && !mayManage("logs.app", bob))
        #expect(!mayManage("logs.>", alice) && !mayManage("logs.audit.x", alice) && !mayManage(">", alice))
        #expect(!policy.mayManageEverything(alice) && !policy.mayManageEverything(root))
        #expect(AccessPolicy(daemonUID: 7).mayManageEverything(Identity(uid: 7, gid: 7)))
    }

    @Test func `a decision names the rule and its place`() {
        let rule = AccessRule(.deny, [.post, .subscribe], names: ["hr.>"], source: .file("/etc/p.yaml", line: 12))
        let policy = AccessPolicy(rules: [rule])
        Array("hr.a".utf8).withUnsafeBytes { name in
            let decision = policy.decision(policy.nameRules(.post, name), alice)
            #expect(decision == .denied(rule))
            #expect(decision.reason(for: name) == "denied by /etc/p.yaml:12")
        }
        #expect(rule.description == "deny: [post, subscribe] names: [hr.>] (/etc/p.yaml:12)")
        let manage = AccessRule(.allow, [.manage], names: ["a", "b.*"], uids: [2, 1], gids: [3])
        #expect(manage.description == "allow: [manage] names: [a, b.*] uids: [1, 2] gids: [3] (default rule)")
    }
}
