/// The rules for one right that have the same pattern. Finds the last rule that applies to a peer.
struct RuleSet: Sendable {
    private var all: Int?
    private var byUID: [UInt32: Int] = [:]
    private var byGID: [UInt32: Int] = [:]
    /// The number of the last rule in the set; -1 if the set is empty.
    private(set) var last = -1

    /// Adds a rule. Its number must not be lower than the numbers of earlier rules.
    mutating func add(_ rule: AccessRule, _ number: Int) {
        last = number
        if rule.appliesToAll {
            // This rule overrides all earlier ones.
            (all, byUID, byGID) = (number, [:], [:])
        } else {
            for uid in rule.uids { byUID[uid] = number }
            for gid in rule.gids { byGID[gid] = number }
        }
    }

    /// The number of the last rule that applies to the identity; nil if no rule applies.
    func rule(for identity: borrowing Identity) -> Int? {
        var found = all ?? -1
        if !byUID.isEmpty, let number = byUID[identity.uid] { found = max(found, number) }
        if !byGID.isEmpty {
            if let number = byGID[identity.gid] { found = max(found, number) }
            for gid in identity.groups {
                if let number = byGID[gid] { found = max(found, number) }
            }
        }
        return found < 0 ? nil : found
    }
}

/// The rules for one right that apply to a name or pattern. Finds the rule for each peer without another lookup of the
/// name.
struct RuleMatches: Hashable, Sendable {
    private struct Match: Hashable {
        /// The index of the ``RuleSet`` in `RuleTrie.ends`.
        var end: Int
        /// The uid that the peer must have; nil if the peer may have any uid.
        var uid: UInt32?
    }

    private var matches: [Match] = []

    mutating func add(_ end: Int, uid: UInt32?) {
        matches.append(Match(end: end, uid: uid))
    }

    /// Sorts the matches by the number of their last rule, highest first.
    mutating func sort(_ ends: [RuleSet]) {
        guard matches.count > 1 else { return }
        matches.sort { ends[$0.end].last > ends[$1.end].last }
    }

    /// The number of the last rule that applies to the identity; nil if no rule applies.
    ///
    /// - Parameter ends: The property `ends` of the trie that made this value.
    func rule(for identity: borrowing Identity, _ ends: [RuleSet]) -> Int? {
        var found = -1
        for match in matches {
            let set = ends[match.end]
            if set.last < found { break }
            if let uid = match.uid, uid != identity.uid { continue }
            if let number = set.rule(for: identity) { found = max(found, number) }
        }
        return found < 0 ? nil : found
    }
}
