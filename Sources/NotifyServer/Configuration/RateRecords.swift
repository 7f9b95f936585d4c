import NotifyBroker
import NotifyYAML

/// The records of `limits.users`: rates that differ from those of `limits.per_user`.
enum RateRecords {
    private static let posts = RecordKey.one("posts_per_second", .rate(1...100_000_000))
    private static let connects = RecordKey.one("connects_per_second", .rate(1...1_000_000))

    static let list = RecordList(\.broker.rates.exceptions, [posts, connects] + PeerKeys.all) {
        record throws(ConfigurationFileError) in
        let exception = RateLimits.Exception(
            uids: PeerKeys.uids(record), gids: PeerKeys.gids(record), posts: record[posts], connects: record[connects])
        guard !exception.uids.isEmpty || !exception.gids.isEmpty else {
            throw record.error("expected one of the keys users, groups, uids, gids in this record")
        }
        guard exception.posts != nil || exception.connects != nil else {
            throw record.error("expected a key \"posts_per_second\" or \"connects_per_second\" in this record")
        }
        return exception
    }
}

extension RecordScalar<RateLimits.Exception.Limit> {
    fileprivate static func rate(_ range: ClosedRange<Int>) -> RecordScalar {
        RecordScalar(
            expectation: "an integer from \(range.lowerBound) to \(range.upperBound), or unlimited"
        ) { node in
            if node.string == "unlimited" { return .unlimited }
            guard let number = node.int, range.contains(number) else { return nil }
            return .perSecond(number)
        }
    }
}
