import NotifyCenter
package import NotifyLog

/// The decisions of a list of rules about names, found by searching the list from its end. Slow and simple, for
/// comparison with `AccessPolicy`.
package struct PolicyModel {
    package typealias Token = ArraySlice<UInt8>

    private struct Rule {
        let rule: AccessRule
        let patterns: [[Token]]
    }

    private static let daemon = token("notifyd")
    private static let ownUID = token(AccessRule.ownUIDToken)
    private static let one = token("*")
    private static let rest = token(">")

    private let rules: [Rule]

    /// - Parameter rules: All rules, default ones first.
    package init(rules: [AccessRule]) {
        self.rules = rules.map { Rule(rule: $0, patterns: $0.names.map { Self.tokens($0.string) }) }
    }

    package static func token(_ text: String) -> Token { Array(text.utf8)[...] }

    /// The tokens of a name or pattern.
    package static func tokens(_ text: String) -> [Token] { Array(text.utf8).split(separator: UInt8(ascii: ".")) }

    package func permits(_ right: AccessRight, _ name: [Token], _ identity: Identity) -> Bool {
        if right == .post, name.first == Self.daemon { return false }
        return rules.last { Self.applies($0, right, name, identity) }?.rule.effect == .allow
    }

    private static func applies(_ rule: Rule, _ right: AccessRight, _ name: [Token], _ identity: Identity) -> Bool {
        let (uids, gids) = (rule.rule.uids, rule.rule.gids)
        let isSubject =
            uids.isEmpty && gids.isEmpty || uids.contains(identity.uid) || gids.contains(identity.gid)
            || identity.groups.contains(where: gids.contains)
        return isSubject && rule.rule.rights.contains(right)
            && rule.patterns.contains { matches($0, name, right, identity.uid) }
    }

    /// Whether the tokens of a pattern match those of a name.
    ///
    /// - Parameter uid: The value of the token `$uid`.
    package static func matches(_ pattern: [Token], _ name: [Token], _ right: AccessRight, _ uid: UInt32) -> Bool {
        if name.first == daemon, right != .manage, pattern.first == one || pattern.first == rest { return false }
        for (index, token) in pattern.enumerated() {
            if token == rest { return name.count > index }
            guard index < name.count else { return false }
            guard token == one || name[index] == (token == ownUID ? self.token("\(uid)") : token) else { return false }
        }
        return pattern.count == name.count
    }
}
