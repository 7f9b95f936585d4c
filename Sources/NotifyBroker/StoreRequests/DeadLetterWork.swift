import NotifyLog

/// The part of a request about dead letters that is in one batch.
struct DeadLetterWork {
    /// The dead letters that the batch deletes.
    var deleted: [UInt64] = []
    /// The messages that the batch copies, each for its durable subscription.
    var copied: [(id: DurableID, sequence: UInt64)] = []
    /// The number of dead letters that stay, because their subscription could not take the message.
    var kept: UInt64 = 0
    /// The last sequence that was read.
    var through: UInt64 = 0
}
