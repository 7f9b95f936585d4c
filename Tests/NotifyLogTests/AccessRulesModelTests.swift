import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

/// Compares random policies with a model that searches a list of rules from its end.
@Suite struct AccessRulesModelTests {
    private static let tokens = ["a", "b", "notifyd", "user", "1000", "1001", "$uid", "*"]

    private struct Model {
        let rules: [AccessRule]

        func permits(_ right: AccessRight, _ name: String, _ identity: Identity) -> Bool {
            if right == .post, name.split(separator: ".").first == "notifyd" { return false }
            return rules.last { applies($0, right, name, identity) }?.effect == .allow
        }

        private func applies(_ rule: AccessRule, _ right: AccessRight, _ name: String, _ identity: Identity) -> Bool {
            let groups = [identity.gid] + identity.groups
            let isSubject =
                rule.uids.isEmpty && rule.gids.isEmpty || rule.uids.contains(identity.uid)
                || groups.contains(where: rule.gids.contains)
            return isSubject && rule.rights.contains(right)
                && rule.names.contains { Self.matches($0.string, name, right, identity.uid) }
        }

        static func matches(_ pattern: String, _ name: String, _ right: AccessRight, _ uid: UInt32) -> Bool {
            let patterns = pattern.split(separator: ".").map { $0 == "$uid" ? "\(uid)"[...] : $0 }
            let names = name.split(separator: ".")
            if names.first == "notifyd", right != .manage, ["*", ">"].contains(patterns.first) { return false }
            for (index, token) in patterns.enumerated() {
                if token == ">" { return names.count > index }
                guard index < names.count, token == "*" || token == names[index] else { return false }
            }
            return patterns.count == names.count
        }
    }

    private static func pattern(_ random: inout some RandomNumberGenerator) -> String {
        var tokens = (0..<Int.random(in: 0...3, using: &random)).map { _ in
            Self.tokens.randomElement(using: &random) ?? "a"
        }
        if tokens.isEmpty || Bool.random(using: &random) { tokens.append(">") }
        return tokens.joined(separator: ".")
    }

    private static func rule(_ random: inout some RandomNumberGenerator) throws -> AccessRule {
        let rights = AccessRight.allCases.filter { _ in Bool.random(using: &random) }
        var subjects: (Set<UInt32>, Set<UInt32>) = ([], [])
        if Int.random(in: 0..<3, using: &random) == 0 { subjects.0 = [UInt32.random(in: 999...1001, using: &random)] }
        if Int.random(in: 0..<4, using: &random) == 0 { subjects.1 = [UInt32.random(in: 5...7, using: &random)] }
        return AccessRule(
            Bool.random(using: &random) ? .allow : .deny, Set(rights),
            names: try (0..<Int.random(in: 1...2, using: &random)).map { _ in try NamePattern(pattern(&random)) },
            uids: subjects.0, gids: subjects.1)
    }

    /// Names of one to three tokens. Only wildcards match the token `x`; the other tokens occur in the random patterns.
    private static let names: [String] = {
        let tokens = ["a", "b", "notifyd", "user", "1000", "1001", "x"]
        let pairs = tokens.flatMap { first in tokens.map { "\(first).\($0)" } }
        return tokens + pairs + pairs.flatMap { pair in ["a", "1000", "x"].map { "\(pair).\($0)" } }
    }()

    @Test(arguments: 0..<60)
    func `decisions are those of a search from the last rule`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let count = Int.random(in: 0...8, using: &random)
        let own = try (0..<count).map { _ in try Self.rule(&random) }
        let policy = AccessPolicy(rules: own)
        let model = Model(rules: policy.allRules)
        let identities = [
            Identity(uid: 1000, gid: 5), Identity(uid: 1001, gid: 9, groups: [6, 7]), Identity(uid: 0, gid: 0),
        ]
        for identity in identities {
            for name in Self.names {
                Array(name.utf8).withUnsafeBytes { bytes in
                    for right in AccessRight.allCases {
                        let permits = policy.permits(policy.nameRules(right, bytes), identity)
                        #expect(permits == model.permits(right, name, identity), "\(right) \(name) \(own)")
                    }
                    let open = policy.isOpen(bytes)
                    #expect(!open || model.permits(.post, name, identity) && model.permits(.subscribe, name, identity))
                }
            }
            for _ in 0..<20 {
                let text = Self.pattern(&random)
                let matching = Self.names.filter { Model.matches(text, $0, .subscribe, identity.uid) }
                let pattern = try NamePattern(text)
                if matching.contains(where: { model.permits(.subscribe, $0, identity) }), !text.contains("$") {
                    #expect(policy.maySubscribe(pattern, identity), "\(pattern) \(own)")
                }
                if policy.manageDecision(pattern, identity).isAllowed, !text.contains("$") {
                    let managed = Self.names.filter { Model.matches(text, $0, .manage, identity.uid) }
                    #expect(managed.allSatisfy { model.permits(.manage, $0, identity) }, "\(pattern) \(own)")
                }
            }
        }
    }
}
