import NotifyCenter
import NotifyLog
import NotifyWire

/// The records of `policy:` in the configuration file, and of the files in the policy directory.
enum PolicyRules {
    private static let allow = RecordKey.list("allow", of: right)
    private static let deny = RecordKey.list("deny", of: right)
    private static let names = RecordKey.list(
        "names", of: .text("a name or a pattern such as orders.>") { try? NamePattern($0) })
    private static let right = RecordScalar.text(
        "one of \(AccessRight.allCases.map(\.rawValue).joined(separator: ", "))", AccessRight.init(rawValue:))

    static let list = RecordList(\.policy, [allow, deny, names] + PeerKeys.all, make: rule)

    private static func rule(_ record: ConfigurationRecord) throws(ConfigurationFileError) -> AccessRule {
        let effect: AccessRule.Effect
        let rights: Set<AccessRight>
        switch (record[allow], record[deny]) {
        case (let allowed?, nil): (effect, rights) = (.allow, Set(allowed))
        case (nil, let denied?): (effect, rights) = (.deny, Set(denied))
        default: throw record.error("expected either a key \"allow\" or a key \"deny\" in this record")
        }
        guard let patterns = record[names] ?? (rights == [.manage] ? [.everyName] : nil) else {
            throw record.error("expected a key \"names\" in this record: \">\" stands for all names")
        }
        if effect == .allow, rights.contains(.post), let reserved = patterns.first(where: isReserved) {
            throw record.error("posting under '\(reserved)' cannot be allowed: its names are reserved for the daemon")
        }
        return AccessRule(
            effect, rights, names: patterns,
            uids: PeerKeys.uids(record), gids: PeerKeys.gids(record),
            source: .file(record.path, line: record.line))
    }

    private static func isReserved(_ pattern: NamePattern) -> Bool {
        pattern.withUTF8 { ReservedNames.isReserved($0) }
    }
}
