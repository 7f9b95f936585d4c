import NotifyLog

/// The rules for posting that cached names refer to by a tag: names to which the same rules apply share one.
struct PostRules {
    /// More tags than a policy needs, unless root posts under the names of very many users.
    private static let limit = 4_096

    private var rules: [AccessPolicy.NameRules] = []
    private var tags: [AccessPolicy.NameRules: UInt16] = [:]

    subscript(tag: UInt16) -> AccessPolicy.NameRules { rules[Int(tag) - 1] }

    /// The tag of the rules; 0 if there are too many.
    mutating func tag(of new: AccessPolicy.NameRules) -> UInt16 {
        if let known = tags[new] { return known }
        guard rules.count < Self.limit else { return 0 }
        rules.append(new)
        let tag = UInt16(rules.count)
        tags[new] = tag
        return tag
    }
}
