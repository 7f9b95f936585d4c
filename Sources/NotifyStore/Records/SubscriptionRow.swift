import NotifyCenter
import NotifyLog
import NotifyWire

/// A durable subscription as stored in the database, with its losses.
struct SubscriptionRow {
    /// The subscription as read. Damaged parts can have any value.
    var record: DurableRecord
    /// Whether the id, the user, the name, the filter, the settings, the start and the time of creation are as they
    /// were stored.
    var isDefinitionSound: Bool
    /// Whether the identities that attached are as they were stored.
    var isOwnerSound: Bool
    var isProgressSound: Bool
    var isLossSound: Bool

    var isSound: Bool { isDefinitionSound && isOwnerSound && isProgressSound && isLossSound }

    /// The columns that `init` reads.
    static let columns = """
        id, uid, gid, groups, name, patterns, object, cursor, seen_through, acknowledged, generation,
        attached, started_after, losses.first, losses.last, losses.count, losses.is_upper_bound, subscriptions.crc,
        owner_crc, progress_crc, losses.crc, used, created, attached_at, attached_pid, settings,
        earlier_owners
        """
    static let table = "subscriptions LEFT JOIN losses ON losses.subscription = subscriptions.id"
    /// The table to select from if the losses in the database can't be read.
    static let tableWithoutLosses = """
        subscriptions LEFT JOIN
            (SELECT 0 AS first, 0 AS last, 0 AS count, 0 AS is_upper_bound, 0 AS crc) AS losses ON false
        """

    /// The query whose rows `init` reads.
    static func select(where condition: String = "true") -> String {
        "SELECT \(columns) FROM \(table) WHERE \(condition) ORDER BY id"
    }

    /// The subscription in the current row; nil if the row is damaged.
    static func record(in row: PreparedStatement) -> DurableRecord? {
        let row = SubscriptionRow(row)
        return row.isSound ? row.record : nil
    }

    init(_ row: PreparedStatement) {
        let groups = OwnerEncoding.groups(row.text(3))
        let earlier = OwnerEncoding.decode(row.text(26), uid: row.integer32(1))
        let patterns = try? row.text(5).split(separator: " ").map { try NamePattern(String($0)) }
        let acknowledged = RangeListEncoding.decode(row.bytes(9))
        let object = row.text(6)
        let loss = Self.loss(row)
        let settings = DurableSettings(encoded: row.text(25))
        record = DurableRecord(
            id: DurableID(row.integer32(0)),
            owner: Identity(uid: row.integer32(1), gid: row.integer32(2), groups: groups ?? []),
            earlierOwners: earlier ?? [], name: row.text(4),
            filter: SubscriptionFilter(patterns: patterns ?? [], object: object.isEmpty ? nil : object),
            settings: settings ?? DurableSettings(defaultsFor: .exclusive), startedAfter: row.integer(12),
            createdMicroseconds: row.integer(22),
            lastAttachment: LastAttachment(microseconds: row.integer(23), pid: row.integer32(24)),
            progress: DurableProgress(
                cursor: row.integer(7), seenThrough: row.integer(8), acknowledged: acknowledged ?? [],
                generation: row.integer32(10), isAttached: row.integer(11) != 0),
            loss: loss)
        let id = row.integer(0)
        isDefinitionSound =
            patterns != nil && settings != nil && id < UInt64(UInt32.max)
            && record.startedAfter < Limits.sequenceEnd
            && Self.definitionChecksum(row) == row.integer32(17)
        isOwnerSound =
            groups != nil && earlier != nil
            && SubscriptionChecksums.ofOwner(
                id: id, gid: row.integer(2), groups: row.text(3), earlier: row.text(26), attached: row.integer(23),
                pid: row.integer(24))
                == row.integer32(18)
        let highest = max(record.progress.cursor, record.progress.seenThrough, acknowledged?.last?.last ?? 0)
        isProgressSound =
            acknowledged != nil && Self.progressChecksum(row) == row.integer32(19) && highest < Limits.sequenceEnd
            && StoredTime.isSound(row.integer(21))
        isLossSound =
            loss.map { loss in
                SubscriptionChecksums.ofLoss(loss, id: id) == row.integer32(20) && loss.first <= loss.last
                    && max(loss.last, loss.count) < Limits.sequenceEnd
            } ?? true
    }

    private static func loss(_ row: PreparedStatement) -> Loss? {
        guard row.integer(14) != 0 else { return nil }
        return Loss(
            first: row.integer(13), last: row.integer(14), count: row.integer(15), isUpperBound: row.integer(16) != 0)
    }

    private static func definitionChecksum(_ row: PreparedStatement) -> UInt32 {
        SubscriptionChecksums.ofDefinition(
            id: row.integer(0), uid: row.integer(1), startedAfter: row.integer(12), created: row.integer(22),
            name: row.text(4), patterns: row.text(5), object: row.text(6), settings: row.text(25))
    }

    private static func progressChecksum(_ row: PreparedStatement) -> UInt32 {
        SubscriptionChecksums.ofProgress(
            id: row.integer(0), cursor: row.integer(7), seenThrough: row.integer(8), generation: row.integer(10),
            isAttached: row.integer(11), used: row.integer(21), acknowledged: row.bytes(9))
    }
}

extension SubscriptionRow {
    /// The damaged parts of the row.
    var damagedParts: [String] {
        [
            (isDefinitionSound, "definition"), (isOwnerSound, "rights"), (isProgressSound, "progress"),
            (isLossSound, "losses"),
        ].filter { !$0.0 }.map(\.1)
    }
}
