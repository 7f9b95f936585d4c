import NotifyBroker
import NotifyYAML

/// The records of `limits.users`: limits that differ from those of `limits.per_user`.
enum UserLimitRecords {
    private static let posts = RecordKey.one("posts_per_second", .orUnlimited(.integer(1...100_000_000)))
    private static let connects = RecordKey.one("connects_per_second", .orUnlimited(.integer(1...1_000_000)))
    private static let storedBytes = RecordKey.one(
        "stored_bytes", .orUnlimited(.size(ConfigurationSetting.storedBytes)))

    private static let limitKeys: [any DeclaredRecordKey] = [posts, connects, storedBytes]

    static let list = RecordList(\.broker.userLimits.exceptions, limitKeys + PeerKeys.all) {
        record throws(ConfigurationFileError) in
        var exception = UserLimitRules.Exception(uids: PeerKeys.uids(record), gids: PeerKeys.gids(record))
        exception.postsPerSecond = record[posts]
        exception.connectsPerSecond = record[connects]
        exception.storedBytes = record[storedBytes]
        guard !exception.uids.isEmpty || !exception.gids.isEmpty else {
            throw record.error("expected one of the keys users, groups, uids, gids in this record")
        }
        guard !exception.isEmpty else {
            let names = limitKeys.map(\.name).joined(separator: ", ")
            throw record.error("expected one of the keys \(names) in this record")
        }
        return exception
    }
}

extension RecordScalar {
    /// A value or `unlimited`.
    fileprivate static func orUnlimited<Limit>(
        _ scalar: RecordScalar<Limit>
    ) -> RecordScalar where Value == UserLimitRules.Override<Limit> {
        RecordScalar(expectation: "\(scalar.expectation), or unlimited") { node in
            node.string == "unlimited" ? .unlimited : (try? scalar.value(of: node)).map { .limit($0) }
        }
    }
}
