import NotifyLog

/// Progress that is not persisted yet.
struct UnsavedProgress {
    var slots: Set<DurableSlot> = []
    /// The changes that persist the progress.
    var changes: [DurableChange] = []
    /// The losses that the changes add to those in the log.
    var losses: [DurableID: Loss] = [:]
    /// The losses that the changes remove from the log.
    var passedLosses: [PassedLoss] = []
    /// The redeliveries that the changes record.
    var redeliveries: [DurableID: Redeliveries.Unsaved] = [:]
}
