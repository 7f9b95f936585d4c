import NotifyLog

/// The checksums of a durable subscription's row. Each checksum covers the id and the columns that are written
/// together.
enum SubscriptionChecksums {
    static func ofDefinition(
        id: UInt64, uid: UInt64, startedAfter: UInt64, created: UInt64, name: String, patterns: String, object: String,
        settings: String
    ) -> UInt32 {
        var checksum = Checksum()
        for number in [id, uid, startedAfter, created] { checksum.add(number) }
        for text in [name, patterns, object, settings] { checksum.add(text) }
        return checksum.value
    }

    /// - Parameter earlier: The identities that attached before the owner. Rows of earlier versions have none.
    static func ofOwner(
        id: UInt64, gid: UInt64, groups: String, earlier: String = "", attached: UInt64, pid: UInt64
    ) -> UInt32 {
        var checksum = Checksum()
        for number in [id, gid, attached, pid] { checksum.add(number) }
        checksum.add(groups)
        if !earlier.isEmpty { checksum.add(earlier) }
        return checksum.value
    }

    static func ofProgress(
        id: UInt64, cursor: UInt64, seenThrough: UInt64, generation: UInt64, isAttached: UInt64, used: UInt64,
        acknowledged: UnsafeRawBufferPointer
    ) -> UInt32 {
        var checksum = Checksum()
        for number in [id, cursor, seenThrough, generation, isAttached, used] { checksum.add(number) }
        checksum.add(acknowledged)
        return checksum.value
    }

    /// The checksum of the row of a subscription's losses.
    static func ofLoss(_ loss: Loss, id: UInt64) -> UInt32 {
        var checksum = Checksum()
        for number in [id, loss.first, loss.last, loss.count, loss.isUpperBound ? 1 : 0] { checksum.add(number) }
        return checksum.value
    }
}
