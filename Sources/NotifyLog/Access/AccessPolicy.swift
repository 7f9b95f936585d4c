package import NotifyCenter
import NotifyWire

/// The rights of each identity to post, to receive, to serve, and to manage the resources of other users.
///
/// An ordered list of rules, which begins with the default rules. **The last rule that matches decides. If no rule
/// matches, the right is denied.** No rule can grant posting under `notifyd`.
///
/// Immutable. A policy that replaces another has a higher generation. A cached decision is valid only for the
/// generation of the policy that made it.
package struct AccessPolicy: Sendable {
    package let generation: UInt32
    /// A hash of the rules, which is the same in every run of the daemon.
    package let digest: UInt64
    private let rules: CompiledRules
    private let openBytes: ByteSet

    /// - Parameters:
    ///   - daemonUID: The uid of the daemon, which has the rights of an operator.
    ///   - rules: The configured rules, which follow the default rules.
    package init(generation: UInt32 = 0, daemonUID: UInt32 = 0, rules: [AccessRule] = []) {
        self.generation = generation
        let rules = CompiledRules(AccessRule.defaults(daemonUID: daemonUID) + rules)
        self.rules = rules
        openBytes = rules.openBytes
        digest = rules.rules.digest
    }

    private init(generation: UInt32, _ other: AccessPolicy) {
        self.generation = generation
        (rules, openBytes, digest) = (other.rules, other.openBytes, other.digest)
    }

    /// The same rules with another generation.
    package func with(generation: UInt32) -> AccessPolicy { AccessPolicy(generation: generation, self) }

    /// The most work of a decision about a pattern, in units of about 20 ns.
    package var walkCost: Int { rules.rules.count * 4 }

    /// All rules in order, default ones first.
    package var allRules: [AccessRule] { rules.rules }

    /// Whether every identity may post and receive all names that begin with the first byte of `name`. A fast test: if
    /// the result is false, the decision needs the whole name and the identity.
    @inline(__always)
    package func isOpen(_ name: UnsafeRawBufferPointer) -> Bool {
        guard let first = name.first else { return false }
        return openBytes.contains(first)
    }

    /// Whether every identity may post and receive all names that begin with the first byte of the pattern. False if
    /// the pattern begins with a wildcard.
    package func isOpen(_ pattern: NamePattern) -> Bool {
        pattern.withUTF8 { $0.first != UInt8(ascii: "*") && $0.first != UInt8(ascii: ">") && isOpen($0) }
    }
}

// MARK: - Names

extension AccessPolicy {
    /// The rules that decide whether an identity has a right to a name. Finding the rules takes about a microsecond; a
    /// decision with them, for any identity, takes nanoseconds.
    package struct NameRules: Hashable, Sendable {
        fileprivate let right: AccessRight
        fileprivate let matches: RuleMatches
        /// Whether no rule can grant the right.
        fileprivate let isReserved: Bool
    }

    /// The rules for a right to a name.
    package func nameRules(_ right: AccessRight, _ name: UnsafeRawBufferPointer) -> NameRules {
        NameRules(
            right: right, matches: rules.trie(right).rules(for: name),
            isReserved: right == .post && ReservedNames.isReserved(name))
    }

    /// Whether the rules of a name permit an identity.
    ///
    /// - Parameter nameRules: Made by this policy.
    package func permits(_ nameRules: NameRules, _ identity: borrowing Identity) -> Bool {
        decision(nameRules, identity).isAllowed
    }

    /// The decision about a name, with its reason.
    ///
    /// - Parameter nameRules: Made by this policy.
    package func decision(_ nameRules: NameRules, _ identity: borrowing Identity) -> AccessDecision {
        if nameRules.isReserved { return .reserved }
        return rules.decision(nameRules.matches.rule(for: identity, rules.trie(nameRules.right).ends))
    }

    /// Whether `identity` may post under `name`.
    package func mayPost(_ name: UnsafeRawBufferPointer, _ identity: borrowing Identity) -> Bool {
        isOpen(name) || permits(nameRules(.post, name), identity)
    }

    /// Whether `identity` may receive messages posted under `name`.
    package func mayReceive(_ name: UnsafeRawBufferPointer, _ identity: borrowing Identity) -> Bool {
        isOpen(name) || permits(nameRules(.subscribe, name), identity)
    }

    /// Whether one of `identities` may receive messages posted under `name`.
    package func mayReceive(_ name: UnsafeRawBufferPointer, anyOf identities: [Identity]) -> Bool {
        if isOpen(name) { return true }
        let rules = nameRules(.subscribe, name)
        return identities.contains { permits(rules, $0) }
    }
}

// MARK: - Patterns

extension AccessPolicy {
    /// The decision about a subscription with `pattern`. The last rule that covers the whole pattern decides, but a
    /// later rule that allows some of the names is enough to accept the subscription. Messages that the identity may
    /// not receive are not delivered.
    package func subscribeDecision(_ pattern: NamePattern, _ identity: borrowing Identity) -> AccessDecision {
        let trie = rules.trie(.subscribe)
        let covering = trie.rules(covering: pattern).rule(for: identity, trie.ends)
        let decision = rules.decision(covering)
        guard !decision.isAllowed,
            let later = trie.rule(
                above: covering ?? -1, .allow, overlapping: pattern, for: identity, in: rules.rules)
        else { return decision }
        return .partly(rules.rules[later])
    }

    /// The decision about a subscription for an explanation: `allowedExcept` instead of `allowed` if a later rule
    /// denies some of the names.
    package func explainedSubscribeDecision(
        _ pattern: NamePattern, _ identity: borrowing Identity
    ) -> AccessDecision {
        let decision = subscribeDecision(pattern, identity)
        guard case .allowed = decision else { return decision }
        let trie = rules.trie(.subscribe)
        let covering = trie.rules(covering: pattern).rule(for: identity, trie.ends)
        let later = trie.rule(above: covering ?? -1, .deny, overlapping: pattern, for: identity, in: rules.rules)
        return later.map { .allowedExcept(rules.rules[$0]) } ?? decision
    }

    /// Whether `identity` may subscribe with `pattern`.
    package func maySubscribe(_ pattern: NamePattern, _ identity: borrowing Identity) -> Bool {
        subscribeDecision(pattern, identity).isAllowed
    }

    /// Whether it is certain that `identity` may receive every message that `pattern` matches. False if that depends on
    /// the message.
    package func mayReceiveAll(_ pattern: NamePattern, _ identity: borrowing Identity) -> Bool {
        // Receiving a dead letter also requires the right to the name of its original message.
        if pattern.withUTF8({ ReservedNames.isReserved($0) }) { return mayReceiveEverything(identity) }
        return if case .allowed = explainedSubscribeDecision(pattern, identity) { true } else { false }
    }

    /// Whether it is certain that `identity` may receive the messages of every name: a rule allows all names, and later
    /// rules allow again the names that a rule denies.
    package func mayReceiveEverything(_ identity: borrowing Identity) -> Bool {
        let trie = rules.trie(.subscribe)
        let identity = copy identity
        let denied = rules.rules.lazy.filter { $0.effect == .deny && $0.rights.contains(.subscribe) }.flatMap(\.names)
        return ([.everyName, "notifyd", "notifyd.>"] + denied).allSatisfy { pattern in
            !pattern.string.contains(AccessRule.ownUIDToken)
                && rules.decision(trie.rules(covering: pattern).rule(for: identity, trie.ends)).isAllowed
        }
    }

    /// The decision about managing all names that `pattern` matches.
    package func manageDecision(_ pattern: NamePattern, _ identity: borrowing Identity) -> AccessDecision {
        wholeDecision(.manage, pattern, identity)
    }

    /// The decision about serving all names that `pattern` matches.
    package func serveDecision(_ pattern: NamePattern, _ identity: borrowing Identity) -> AccessDecision {
        wholeDecision(.serve, pattern, identity)
    }

    /// Whether `identity` may serve some of the names that `pattern` matches. True in doubt, if several rules together
    /// deny all of them.
    package func mayServeSome(_ pattern: NamePattern, _ identity: borrowing Identity) -> Bool {
        let trie = rules.trie(.serve)
        let covering = trie.rules(covering: pattern).rule(for: identity, trie.ends)
        if rules.decision(covering).isAllowed { return true }
        return trie.rule(above: covering ?? -1, .allow, overlapping: pattern, for: identity, in: rules.rules) != nil
    }

    /// The decision about a right to all names that `pattern` matches.
    private func wholeDecision(
        _ right: AccessRight, _ pattern: NamePattern, _ identity: borrowing Identity
    ) -> AccessDecision {
        let trie = rules.trie(right)
        let covering = trie.rules(covering: pattern).rule(for: identity, trie.ends)
        let decision = rules.decision(covering)
        guard decision.isAllowed,
            let later = trie.rule(above: covering ?? -1, .deny, overlapping: pattern, for: identity, in: rules.rules)
        else { return decision }
        return .deniedPartly(rules.rules[later])
    }

    /// Whether `identity` may manage all names, and thus the resources of every user.
    package func mayManageEverything(_ identity: borrowing Identity) -> Bool {
        manageDecision(.everyName, identity).isAllowed
    }

    /// Whether `identity` may manage the resources of `uid`.
    package func mayManage(uid: UInt32, _ identity: borrowing Identity) -> Bool {
        identity.uid == uid || mayManageEverything(identity)
    }
}

/// A decision of an ``AccessPolicy``, with the rule or reason behind it.
package enum AccessDecision: Equatable, Sendable, CustomStringConvertible {
    case allowed(AccessRule)
    /// The rule allows some of the names that a pattern matches, and others are denied.
    case partly(AccessRule)
    /// All names that a pattern matches are allowed, except some that the rule denies.
    case allowedExcept(AccessRule)
    case denied(AccessRule)
    /// The rule denies some of the names that a pattern matches.
    case deniedPartly(AccessRule)
    /// No rule matches.
    case noRule
    /// Only the daemon may post under the name.
    case reserved

    package var isAllowed: Bool {
        switch self {
        case .allowed, .partly, .allowedExcept: true
        case .denied, .deniedPartly, .noRule, .reserved: false
        }
    }

    /// The reason for the decision, as text for messages, without a final period.
    ///
    /// - Parameter name: The name, or the pattern, that the decision is about.
    package func reason(for name: UnsafeRawBufferPointer) -> String {
        switch self {
        case .allowed(let rule): "allowed by \(rule.place)"
        case .partly(let rule): "some of these names are allowed by \(rule.place)"
        case .allowedExcept(let rule): "some of these names are denied by \(rule.place)"
        case .denied(let rule) where rule.source == .defaults: Self.owner(of: name)
        case .denied(let rule): "denied by \(rule.place)"
        case .deniedPartly(let rule): "some of these names are denied by \(rule.place)"
        case .noRule: "no rule of the policy allows it"
        case .reserved: "names under notifyd are reserved for the daemon"
        }
    }

    /// The deciding rule in the terms of the configuration file, or the reason why no single rule decides.
    package var description: String {
        switch self {
        case .allowed(let rule), .denied(let rule): rule.description
        case .partly(let rule): "some of these names, by \(rule)"
        case .allowedExcept(let rule), .deniedPartly(let rule): "some of these names are denied by \(rule)"
        case .noRule: "no rule matches"
        case .reserved: "names under notifyd are reserved for the daemon"
        }
    }

    /// Explains the default rule about names under `user`.
    private static func owner(of name: UnsafeRawBufferPointer) -> String {
        var tokens = TokenCursor(name)
        _ = tokens.next()
        guard let token = tokens.next() else { return "names under user belong to the users" }
        let owner = UInt32(canonicalDecimal: token).map { "uid \($0)" } ?? "root"
        return "names under user.\(String(decoding: token, as: UTF8.self)) belong to \(owner)"
    }
}

/// The rules of a policy, and a trie for each right. Shared by the copies of the policy.
private final class CompiledRules: Sendable {
    let rules: [AccessRule]
    let openBytes: ByteSet
    private let post: RuleTrie
    private let subscribe: RuleTrie
    private let manage: RuleTrie
    private let serve: RuleTrie

    init(_ rules: [AccessRule]) {
        self.rules = rules
        post = RuleTrie(.post, rules)
        subscribe = RuleTrie(.subscribe, rules)
        manage = RuleTrie(.manage, rules)
        serve = RuleTrie(.serve, rules)
        openBytes = ByteSet.open(to: .post, rules).intersection(ByteSet.open(to: .subscribe, rules))
    }

    func trie(_ right: AccessRight) -> RuleTrie {
        switch right {
        case .post: post
        case .subscribe: subscribe
        case .manage: manage
        case .serve: serve
        }
    }

    func decision(_ number: Int?) -> AccessDecision {
        guard let number else { return .noRule }
        return rules[number].effect == .allow ? .allowed(rules[number]) : .denied(rules[number])
    }
}
