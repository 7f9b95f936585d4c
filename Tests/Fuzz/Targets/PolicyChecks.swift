import NotifyCenter
import NotifyLog
import PolicyModel
import TestSupport

/// Compares the decisions of a policy with those of ``PolicyModel``, for names, patterns and identities that are made
/// from the rules and the input.
struct PolicyChecks {
    private static let maximumNames = 8

    private let policy: AccessPolicy
    private let model: PolicyModel
    private let names: [(text: String, tokens: [PolicyModel.Token])]
    private let patterns: [NamePattern]
    private let identities: [Identity]

    init(rules: [AccessRule], _ input: UnsafeRawBufferPointer) {
        policy = AccessPolicy(daemonUID: 990, rules: rules)
        model = PolicyModel(rules: policy.allRules)
        // The seed is an FNV hash, which is the same in every process, unlike that of `Hasher`.
        var choices = SeededGenerator(
            seed: input.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 })
        let uids = [0, 990, 1000] + rules.flatMap(\.uids).sorted()
        let gids = [0, 100] + rules.flatMap(\.gids).sorted()
        identities = (0..<2).map { _ in
            Identity(
                uid: choices.one(of: uids), gid: choices.one(of: gids),
                groups: choices.one(of: [[], [choices.one(of: gids), choices.one(of: gids)]]))
        }
        let all = policy.allRules.flatMap(\.names)
        patterns = (0..<Self.maximumNames).map { _ in choices.one(of: all) }
        let uid = identities[0].uid
        names = patterns.compactMap { pattern in
            let text = Self.name(matching: pattern.string, uid, &choices)
            return (try? NotificationName(text)) == nil ? nil : (text, PolicyModel.tokens(text))
        }
    }

    /// A name that the pattern matches, or one that differs in one token.
    private static func name(matching pattern: String, _ uid: UInt32, _ choices: inout SeededGenerator) -> String {
        var tokens: [String] = []
        for token in PolicyModel.tokens(pattern) {
            switch String(decoding: token, as: UTF8.self) {
            case ">": tokens += choices.one(of: [["x"], ["x", "y"], ["notifyd"], ["\(uid)"]])
            case "*": tokens.append(choices.one(of: ["x", "notifyd", "user", "\(uid)", "*"]))
            case "$uid": tokens.append(choices.one(of: ["\(uid)", "0\(uid)", "$uid", "4294967296"]))
            case let other: tokens.append(other)
            }
        }
        if choices.chance(33) { tokens[choices.one(of: Array(tokens.indices))] = "x" }
        return tokens.joined(separator: ".")
    }

    func run() throws {
        for identity in identities {
            for name in names { try checkName(name.text, name.tokens, identity) }
            for pattern in patterns where !pattern.string.contains("$") { try checkPattern(pattern, identity) }
        }
    }

    private func checkName(
        _ name: String, _ tokens: [PolicyModel.Token], _ identity: Identity
    ) throws {
        let isPermitted = AccessRight.allCases.map { model.permits($0, tokens, identity) }
        try Array(name.utf8).withUnsafeBytes { bytes in
            for (right, expected) in zip(AccessRight.allCases, isPermitted) {
                let decision = policy.decision(policy.nameRules(right, bytes), identity)
                try require(decision.isAllowed == expected, "\(right) '\(name)' of \(identity): \(decision)")
            }
            let answers = (policy.mayPost(bytes, identity), policy.mayReceive(bytes, identity))
            try require(answers == (isPermitted[0], isPermitted[1]), "'\(name)' of \(identity): \(answers)")
        }
    }

    private func checkPattern(_ pattern: NamePattern, _ identity: Identity) throws {
        let tokens = PolicyModel.tokens(pattern.string)
        let (maySubscribe, mayManage) = (
            policy.maySubscribe(pattern, identity), policy.manageDecision(pattern, identity).isAllowed
        )
        for name in names {
            if !maySubscribe, PolicyModel.matches(tokens, name.tokens, .subscribe, identity.uid) {
                try require(
                    !model.permits(.subscribe, name.tokens, identity),
                    "'\(pattern)' is refused, and '\(name.text)' is allowed to \(identity)")
            }
            if mayManage, PolicyModel.matches(tokens, name.tokens, .manage, identity.uid) {
                try require(
                    model.permits(.manage, name.tokens, identity),
                    "'\(pattern)' is allowed, and '\(name.text)' is denied to \(identity)")
            }
        }
    }
}

extension SeededGenerator {
    fileprivate mutating func one<Element>(of elements: [Element]) -> Element {
        elements[Int.random(in: elements.indices, using: &self)]
    }
}
