/// What the broker asks the store to commit in one transaction.
package struct CommitBatch: Sendable {
    /// Told back with the outcome.
    package var id: UInt64
    /// Messages to append, in rising order of sequence. Every entry of every block.
    package var blocks: [LogBlock]
    /// Changes to durable subscriptions, in order, after the messages.
    package var changes: [DurableChange]
    /// Raise the mark below which sequences count as used. Flushed to disk before the outcome is told.
    package var reserveThrough: UInt64?
    /// Flush to disk (fsync) before the outcome is told.
    package var isSynced: Bool

    package init(
        id: UInt64, blocks: [LogBlock] = [], changes: [DurableChange] = [], reserveThrough: UInt64? = nil,
        isSynced: Bool = false
    ) {
        self.id = id
        self.blocks = blocks
        self.changes = changes
        self.reserveThrough = reserveThrough
        self.isSynced = isSynced
    }
}

package enum DurableChange: Equatable, Sendable {
    case create(DurableRecord)
    case update(id: UInt32, DurableProgress)
    case remove(id: UInt32)
}
