import NotifyCenter
import NotifyLog
import NotifyWire

/// A durable subscription as stored in the database, with its losses.
enum SubscriptionRow {
    /// The query whose rows ``record(in:)`` reads.
    static func select(where condition: String = "true") -> String {
        """
        SELECT id, uid, gid, groups, name, patterns, object, cursor, seen_through, acknowledged, generation,
            attached, started_after, losses.first, losses.last, losses.count, losses.is_upper_bound, subscriptions.crc,
            owner_crc, progress_crc, losses.crc, used
        FROM subscriptions LEFT JOIN losses ON losses.subscription = subscriptions.id WHERE \(condition) ORDER BY id
        """
    }

    /// The subscription in the current row; nil if the row is damaged.
    static func record(in row: PreparedStatement) -> DurableRecord? {
        let loss =
            row.integer(14) == 0
            ? nil
            : Loss(
                first: row.integer(13), last: row.integer(14), count: row.integer(15),
                isUpperBound: row.integer(16) != 0)
        let groups = row.text(3).split(separator: " ").map { UInt32($0) }
        let patterns = try? row.text(5).split(separator: " ").map { try NamePattern(String($0)) }
        guard isSound(row, loss), !groups.contains(nil), let patterns,
            let acknowledged = RangeListEncoding.decode(row.bytes(9))
        else { return nil }
        let object = row.text(6)
        return DurableRecord(
            id: DurableID(row.integer32(0)),
            owner: Identity(uid: row.integer32(1), gid: row.integer32(2), groups: groups.compactMap { $0 }),
            name: row.text(4),
            filter: SubscriptionFilter(patterns: patterns, object: object.isEmpty ? nil : object),
            startedAfter: row.integer(12),
            progress: DurableProgress(
                cursor: row.integer(7), seenThrough: row.integer(8), acknowledged: acknowledged,
                generation: row.integer32(10), isAttached: row.integer(11) != 0),
            loss: loss)
    }

    private static func isSound(_ row: PreparedStatement, _ loss: Loss?) -> Bool {
        let id = row.integer(0)
        let definition = SubscriptionChecksums.ofDefinition(
            id: id, uid: row.integer(1), startedAfter: row.integer(12), name: row.text(4), patterns: row.text(5),
            object: row.text(6))
        let owner = SubscriptionChecksums.ofOwner(id: id, gid: row.integer(2), groups: row.text(3))
        let progress = SubscriptionChecksums.ofProgress(
            id: id, cursor: row.integer(7), seenThrough: row.integer(8), generation: row.integer(10),
            isAttached: row.integer(11), used: row.integer(21), acknowledged: row.bytes(9))
        let isLossSound = loss.map { SubscriptionChecksums.ofLoss($0, id: id) == row.integer32(20) } ?? true
        return id < UInt64(UInt32.max) && definition == row.integer32(17) && owner == row.integer32(18)
            && progress == row.integer32(19) && isLossSound
    }
}
