/// What the broker asks the store to commit in one transaction.
package struct CommitBatch: Sendable {
    /// Reported with the outcome.
    package var id: UInt64
    /// Messages to append, in rising order of sequence. Every entry of every block.
    package var blocks: [LogBlock]
    /// Changes to durable subscriptions, in order, after the messages.
    package var changes: [DurableChange]
    /// Raise the mark below which sequences count as used. Flushed to disk before the outcome is reported.
    package var reserveThrough: UInt64?
    /// Flush to disk (fsync) before the outcome is reported.
    package var isSynced: Bool
    /// It is to show whether messages can be stored again: it fails while the log has no room worth mentioning.
    package var isProbe: Bool

    package init(
        id: UInt64, blocks: [LogBlock] = [], changes: [DurableChange] = [], reserveThrough: UInt64? = nil,
        isSynced: Bool = false, isProbe: Bool = false
    ) {
        self.id = id
        self.blocks = blocks
        self.changes = changes
        self.reserveThrough = reserveThrough
        self.isSynced = isSynced
        self.isProbe = isProbe
    }
}

package enum DurableChange: Equatable, Sendable {
    case create(DurableRecord)
    /// The subscription's progress.
    case update(id: DurableID, DurableProgress)
    /// The identity with which the subscription was attached last.
    case setOwner(id: DurableID, Identity)
    case remove(id: DurableID)

    /// About the memory that it takes beside its own size.
    package var byteCount: Int {
        switch self {
        case .create(let record): record.filter.byteCount + record.name.utf8.count
        case .update(_, let progress): progress.acknowledged.count * 16
        case .setOwner(_, let identity): identity.groups.count * MemoryLayout<UInt32>.stride
        case .remove: 0
        }
    }
}
