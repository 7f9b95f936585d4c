import NotifySystem

/// The keys of records that select peers by user and group.
enum PeerKeys {
    private static let users = RecordKey.list(
        "users", of: .text("the name of a user of this machine", UserDatabase.uid(ofUser:)))
    private static let groups = RecordKey.list(
        "groups", of: .text("the name of a group of this machine", UserDatabase.gid(ofGroup:)))
    private static let uids = RecordKey.list("uids", of: .integer(identifiers))
    private static let gids = RecordKey.list("gids", of: .integer(identifiers))

    /// The valid uids and gids. The highest number is invalid, because system calls use it for no user or group.
    private static let identifiers = 0...Int(UInt32.max - 1)

    static let all: [any DeclaredRecordKey] = [users, groups, uids, gids]

    static func uids(_ record: ConfigurationRecord) -> Set<UInt32> {
        Set((record[users] ?? []) + (record[uids] ?? []).map { UInt32($0) })
    }

    static func gids(_ record: ConfigurationRecord) -> Set<UInt32> {
        Set((record[groups] ?? []) + (record[gids] ?? []).map { UInt32($0) })
    }
}
