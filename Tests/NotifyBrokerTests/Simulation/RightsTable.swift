import NotifyCenter
import NotifyLog

/// A family of names: names that have the same rules. Their first part, up to a dot, is the family's raw value.
enum NameFamily: String, CaseIterable {
    /// No rule restricts any name with the same first byte.
    case open
    /// No rule restricts the name, but a name with the same first byte is restricted.
    case rest
    case red, green, blue

    static let restricted: [NameFamily] = [.red, .green, .blue]

    var name: String { "\(rawValue).a" }

    /// The family of a name; nil if the name belongs to no family.
    init?(name: String) {
        self.init(rawValue: String(name.prefix { $0 != "." }))
    }
}

/// The groups that may receive the names of each family: the expected decisions of a policy.
struct RightsTable {
    /// The primary group of every identity.
    static let everyone: UInt32 = 1000
    private static let groups = [5001, 5002, 5003] as [UInt32]

    private var receivers: [NameFamily: Set<UInt32>] = [:]

    /// The supplementary groups of an identity, different for each identity.
    static func groups(ofIdentity number: Int) -> [UInt32] {
        groups.enumerated().filter { number & 1 << $0.offset != 0 }.map(\.element) + [UInt32(6000 + number)]
    }

    /// Rights of random groups to every family.
    init(using random: inout some RandomNumberGenerator) {
        for family in NameFamily.restricted { change(family, using: &random) }
    }

    /// Rights of everyone to every family.
    init() {
        for family in NameFamily.restricted { receivers[family] = [Self.everyone] }
    }

    mutating func change(_ family: NameFamily, using random: inout some RandomNumberGenerator) {
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1: receivers[family] = []
        case 2: receivers[family] = [Self.everyone]
        default:
            let count = Int.random(in: 1...2, using: &random)
            receivers[family] = Set(Self.groups.shuffled(using: &random).prefix(count))
        }
    }

    /// Whether an identity may receive the names of a family.
    ///
    /// - Parameter groups: The supplementary groups of the identity.
    func permits(_ family: NameFamily, _ groups: [UInt32]) -> Bool {
        guard let receivers = receivers[family] else { return true }
        return receivers.contains(Self.everyone) || !receivers.isDisjoint(with: groups)
    }

    /// The families whose names an identity may receive.
    func permitted(_ groups: [UInt32]) -> Set<NameFamily> {
        Set(NameFamily.allCases.filter { permits($0, groups) })
    }

    /// The families whose names none of the given identities may receive.
    func forbidden(_ identities: [[UInt32]]) -> Set<NameFamily> {
        Set(NameFamily.allCases.filter { family in !identities.contains { permits(family, $0) } })
    }

    func policy(_ generation: UInt32) -> AccessPolicy {
        var rules: [AccessRule] = []
        for (pattern, family) in zip(["red.>", "green.>", "blue.>"] as [NamePattern], NameFamily.restricted) {
            rules.append(AccessRule(.deny, [.subscribe], names: [pattern]))
            // A rule without groups applies to everyone.
            guard let gids = receivers[family], !gids.isEmpty else { continue }
            rules.append(AccessRule(.allow, [.subscribe], names: [pattern], gids: gids))
        }
        return AccessPolicy(generation: generation, rules: rules)
    }
}
