/// The rules of one right with the same pattern: for each peer, the last of them that applies.
struct RuleSet: Sendable {
    private var all: Int?
    private var byUID: [UInt32: Int] = [:]
    private var byGID: [UInt32: Int] = [:]
    /// The last rule of the set.
    private(set) var last = -1

    /// Adds a rule. Numbers ascend.
    mutating func add(_ rule: AccessRule, _ number: Int) {
        last = number
        if rule.appliesToAll {
            // Earlier rules can't decide any more.
            (all, byUID, byGID) = (number, [:], [:])
        } else {
            for uid in rule.uids { byUID[uid] = number }
            for gid in rule.gids { byGID[gid] = number }
        }
    }

    /// The last rule that applies to the identity; nil if none does.
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

/// The rules of one right that apply to a name, for any peer. It decides for each peer without looking up the name
/// again.
struct RuleMatches: Hashable, Sendable {
    private struct Match: Hashable {
        /// The number of the ``RuleSet`` in its trie.
        var end: Int
        /// The uid that the peer must have; nil if it may have any.
        var uid: UInt32?
    }

    private var matches: [Match] = []

    mutating func add(_ end: Int, uid: UInt32?) {
        matches.append(Match(end: end, uid: uid))
    }

    /// Puts the matches with the last rules first.
    mutating func sort(_ ends: [RuleSet]) {
        guard matches.count > 1 else { return }
        matches.sort { ends[$0.end].last > ends[$1.end].last }
    }

    /// The last rule that applies to the identity; nil if none does.
    ///
    /// - Parameter ends: The sets of the trie that made this value.
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
