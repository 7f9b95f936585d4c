import NotifyCenter
import NotifyLog
import NotifyWire
import PolicyModel
import TestSupport
import Testing

/// Compares random policies with a model that searches a list of rules from its end.
@Suite struct AccessRulesModelTests {
    private struct Name {
        let text: String
        let tokens: [PolicyModel.Token]
    }

    private static let tokens = ["a", "b", "notifyd", "user", "1000", "1001", "$uid", "*"]

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
    private static let names: [Name] = {
        let tokens = ["a", "b", "notifyd", "user", "1000", "1001", "x"]
        let pairs = tokens.flatMap { first in tokens.map { "\(first).\($0)" } }
        let names = tokens + pairs + pairs.flatMap { pair in ["a", "1000", "x"].map { "\(pair).\($0)" } }
        return names.map { Name(text: $0, tokens: PolicyModel.tokens($0)) }
    }()

    private static func names(matching pattern: String, _ right: AccessRight, _ uid: UInt32) -> [Name] {
        let tokens = PolicyModel.tokens(pattern)
        return names.filter { PolicyModel.matches(tokens, $0.tokens, right, uid) }
    }

    @Test(arguments: 0..<60)
    func `decisions are those of a search from the last rule`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let count = Int.random(in: 0...8, using: &random)
        let own = try (0..<count).map { _ in try Self.rule(&random) }
        let policy = AccessPolicy(rules: own)
        let model = PolicyModel(rules: policy.allRules)
        let identities = [
            Identity(uid: 1000, gid: 5), Identity(uid: 1001, gid: 9, groups: [6, 7]), Identity(uid: 0, gid: 0),
        ]
        for identity in identities {
            for name in Self.names {
                Array(name.text.utf8).withUnsafeBytes { bytes in
                    for right in AccessRight.allCases {
                        let permits = policy.permits(policy.nameRules(right, bytes), identity)
                        #expect(permits == model.permits(right, name.tokens, identity), "\(right) \(name.text) \(own)")
                    }
                    let open = policy.isOpen(bytes)
                    #expect(
                        !open
                            || model.permits(.post, name.tokens, identity)
                                && model.permits(.subscribe, name.tokens, identity)
                    )
                }
            }
            for _ in 0..<20 {
                let text = Self.pattern(&random)
                let matching = Self.names(matching: text, .subscribe, identity.uid)
                let pattern = try NamePattern(text)
                if matching.contains(where: { model.permits(.subscribe, $0.tokens, identity) }), !text.contains("$") {
                    #expect(policy.maySubscribe(pattern, identity), "\(pattern) \(own)")
                }
                if policy.manageDecision(pattern, identity).isAllowed, !text.contains("$") {
                    let managed = Self.names(matching: text, .manage, identity.uid)
                    #expect(managed.allSatisfy { model.permits(.manage, $0.tokens, identity) }, "\(pattern) \(own)")
                }
                guard !text.contains("$") else { continue }
                let served = Self.names(matching: text, .serve, identity.uid).filter {
                    model.permits(.serve, $0.tokens, identity)
                }
                let mayServe = policy.mayServeSome(pattern, identity)
                #expect(mayServe || served.isEmpty, "\(pattern) \(own)")
                if pattern.isExact { #expect(mayServe == policy.serveDecision(pattern, identity).isAllowed) }
            }
        }
    }
}
