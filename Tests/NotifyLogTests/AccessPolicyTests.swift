import NotifyCenter
import NotifyLog
import Testing

@Suite struct AccessPolicyTests {
    private let policy = AccessPolicy()

    private func mayPost(_ name: String, _ uid: UInt32) -> Bool {
        Array(name.utf8).withUnsafeBytes { policy.mayPost($0, Identity(uid: uid, gid: 5)) }
    }

    private func mayReceive(_ name: String, _ uid: UInt32) -> Bool {
        Array(name.utf8).withUnsafeBytes { policy.mayReceive($0, Identity(uid: uid, gid: 5)) }
    }

    @Test(arguments: ["notifyd", "notifyd.start", "notifyd.a.b"])
    func `only the daemon posts under its own names`(_ name: String) {
        #expect(!mayPost(name, 0))
        #expect(!mayPost(name, 1000))
        #expect(mayReceive(name, 0))
        #expect(!mayReceive(name, 1000))
    }

    @Test(arguments: [
        "a", "notify", "notifydx.a", "Notifyd.a", "n.notifyd", "user", "users.5.a", "User.7.a", "a.user.7.b",
    ])
    func `all users post and receive other names`(_ name: String) {
        for uid: UInt32 in [0, 1, 1000, .max] {
            #expect(mayPost(name, uid))
            #expect(mayReceive(name, uid))
        }
    }

    @Test(arguments: [
        ("notifyd.start", "names under notifyd are reserved for the daemon"),
        ("user.1001.mail", "names under user.1001 belong to uid 1001"),
        ("user.alice", "names under user.alice belong to root"),
    ])
    func `a refusal by a default rule names the owner`(_ name: String, _ reason: String) {
        let found = Array(name.utf8).withUnsafeBytes { bytes in
            policy.decision(policy.nameRules(.post, bytes), Identity(uid: 1000, gid: 5)).reason(for: bytes)
        }
        #expect(found == reason)
    }

    @Test(arguments: ["user.1000", "user.1000.mail", "user.1000.a.b"])
    func `names of a user are open to that user and root only`(_ name: String) {
        for (uid, allowed) in [(UInt32(1000), true), (0, true), (1001, false), (100, false), (10000, false)] {
            #expect(mayPost(name, uid) == allowed)
            #expect(mayReceive(name, uid) == allowed)
        }
    }

    /// Only the shortest decimal form denotes a user, so each uid has one spelling.
    @Test(arguments: [
        "01000", "+1000", "1000x", "x", "4294967296", "00", "-1", "10000000000", "\u{FF11}", "1e3", "0x3e8",
    ])
    func `names with an invalid uid token are open to root only`(_ token: String) {
        for name in ["user.\(token)", "user.\(token).mail"] {
            #expect(mayPost(name, 0))
            #expect(!mayPost(name, 1000))
            #expect(!mayReceive(name, 1000))
            #expect(!mayReceive(name, 1))
        }
    }

    @Test func `an identity may receive everything only if later rules allow all denied names`() {
        let root = Identity(uid: 0, gid: 0)
        func mayReceiveEverything(_ identity: Identity, _ rules: AccessRule...) -> Bool {
            AccessPolicy(rules: rules).mayReceiveEverything(identity)
        }
        let denial = AccessRule(.deny, [.subscribe], names: ["a.*"])
        #expect(mayReceiveEverything(root))
        #expect(!mayReceiveEverything(Identity(uid: 1000, gid: 5)), "names of other users")
        #expect(!mayReceiveEverything(root, denial))
        let part = AccessRule(.allow, [.subscribe], names: ["a.b"], uids: [0])
        #expect(!mayReceiveEverything(root, denial, part))
        let all = AccessRule(.allow, [.subscribe], names: ["a.>"], uids: [0])
        #expect(mayReceiveEverything(root, denial, all) && !mayReceiveEverything(root, all, denial))
        let own = AccessRule(.deny, [.subscribe], names: ["a.$uid"], uids: [0])
        #expect(!mayReceiveEverything(root, own))
        let others = AccessRule(.deny, [.subscribe], names: ["a"], uids: [5])
        #expect(mayReceiveEverything(root, others))
    }

    @Test(arguments: [
        ("notifyd", false), ("notifyd.>", false), ("notifyd.dead.1000", false), ("notifydx", true),
        ("notifydx.>", true),
    ])
    func `receiving all messages of a reserved pattern requires the right to receive everything`(
        pattern: String, allowed: Bool
    ) throws {
        #expect(policy.mayReceiveAll(try NamePattern(pattern), Identity(uid: 1000, gid: 5)) == allowed)
        #expect(policy.mayReceiveAll(try NamePattern(pattern), Identity(uid: 0, gid: 0)))
    }

    @Test func `uids up to the highest are recognized`() {
        #expect(mayPost("user.4294967295.a", .max))
        #expect(!mayPost("user.4294967295.a", 1))
        #expect(mayPost("user.0.a", 0))
        #expect(!mayPost("user.0.a", 1))
    }

    @Test(arguments: [
        ("user.1000.>", UInt32(1000), true), ("user.1000", 1000, true), ("user.1000.>", 0, true),
        ("user.1000.>", 1001, false), ("user.1000", 1001, false), ("user.1000.*", 1, false),
        ("user.*.mail", 1001, true), ("user.>", 1001, true), ("*.1000.>", 1001, true), (">", 1001, true),
        ("notifyd.limits.>", 1001, false), ("notifyd.>", 0, true), ("notifyd.dead.1001", 1001, true),
        ("notifyd.dead.1000", 1001, false), ("notifyd.>", 1001, true), ("user", 1001, true), ("users.1000", 1001, true),
    ])
    func `a pattern is refused if it matches only names that the user may not receive`(
        _ pattern: String, uid: UInt32, allowed: Bool
    ) throws {
        #expect(policy.maySubscribe(try NamePattern(pattern), Identity(uid: uid, gid: 5)) == allowed)
    }

    /// Identities are not checked for open names, so all users must have access to these names.
    @Test(arguments: ["a", "v.b", "User.1.a", "_"])
    func `all users may post and receive open names`(_ name: String) {
        let isOpen = Array(name.utf8).withUnsafeBytes { policy.isOpen($0) }
        #expect(isOpen && mayPost(name, 1000) && mayReceive(name, 1000))
    }

    @Test func `only root manages subscriptions of other users`() {
        let (user, root) = (Identity(uid: 1000, gid: 0, groups: [0]), Identity(uid: 0, gid: 0))
        #expect(policy.mayManage(uid: 1000, user) && !policy.mayManage(uid: 1001, user))
        #expect(policy.mayManage(uid: 1000, root) && policy.mayManageEverything(root))
        #expect(!policy.mayManageEverything(user))
    }

    @Test func `several identities may read the messages that one of them may read`() {
        let policy = AccessPolicy(rules: [
            AccessRule(.deny, [.subscribe], names: ["hr.>"]),
            AccessRule(.allow, [.subscribe], names: ["hr.>"], gids: [5]),
        ])
        let identities = [Identity(uid: 1, gid: 1), Identity(uid: 1, gid: 1, groups: [5])]
        func permits(_ identities: [Identity], _ name: String) -> Bool {
            Array(name.utf8).withUnsafeBytes { ReadAccess(policy: policy, identities: identities).permits($0) }
        }
        for name in ["hr.pay", "other"] { #expect(permits(identities, name)) }
        #expect(!permits([identities[0]], "hr.pay") && permits([identities[0]], "other"))
        #expect(permits([identities[1]], "hr.pay"))
    }

    @Test func `read accesses agree only if their policy generations and identities are equal`() {
        let access = ReadAccess(policy: AccessPolicy(generation: 1), identity: Identity(uid: 1, gid: 1, groups: [2]))
        var other = access
        #expect(access.agrees(with: other))
        other.identities[0].groups = []
        #expect(!access.agrees(with: other))
        other = access
        other.policy = AccessPolicy(generation: 2)
        #expect(!access.agrees(with: other))
    }
}
