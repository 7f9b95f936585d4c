import NotifyLog

/// A batch that the store is committing.
struct InFlightBatch {
    let id: UInt64
    let log: PendingLog
    /// The durable subscriptions whose progress is in the batch.
    let progressOf: Set<DurableSlot>
    /// The losses that the batch adds to those in the log.
    var losses: [DurableID: Loss] = [:]
    /// The losses that the batch removes from the log.
    var passedLosses: [PassedLoss] = []
    /// The redeliveries that the batch records.
    var redeliveries: [DurableID: Redeliveries.Unsaved] = [:]
    /// The changes of values in the batch.
    var values: [ValueChange] = []
    /// The upper bound of reserved sequences that the batch writes, exclusive; nil if it writes none.
    let reserveBelow: UInt64?
    let started: Duration
    /// Whether this is a retry that was requested because of a change that may let storage work again (see
    /// `Broker.storageChanged`). False for the retries of the timer. While a requested retry is in flight, messages are
    /// accepted although storage has failed.
    var isRetry = false

    var lastSequence: UInt64? { log.sealed.last?.block.entries.last?.sequence }
    var messageCount: Int { log.sealed.reduce(0) { $0 + $1.block.entries.count } }
}
