import NotifyLog

/// The rules that apply to posts, numbered by tags. Names with the same rules share a tag. The tag of a name is cached
/// with the name.
struct PostRules {
    /// The maximum number of tags. Names under `user.<uid>` have rules, and so tags, of their own for each uid. All
    /// other names need few tags.
    private static let limit = 4_096

    private var rules: [AccessPolicy.NameRules] = []
    private var tags: [AccessPolicy.NameRules: UInt16] = [:]

    subscript(tag: UInt16) -> AccessPolicy.NameRules { rules[Int(tag) - 1] }

    /// The tag of the rules; 0 if no tag is left.
    mutating func tag(of new: AccessPolicy.NameRules) -> UInt16 {
        if let known = tags[new] { return known }
        guard rules.count < Self.limit else { return 0 }
        rules.append(new)
        let tag = UInt16(rules.count)
        tags[new] = tag
        return tag
    }
}
