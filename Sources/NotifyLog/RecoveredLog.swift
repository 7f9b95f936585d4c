/// The state that the store recovered when it was opened.
package struct RecoveredLog: Sendable {
    /// The next sequence. This sequence and higher ones were never used.
    package var nextSequence: UInt64
    /// The upper bound, exclusive, of the sequences that may be used even if the log is not writable. The store
    /// guarantees that the next start within the same boot does not reuse these sequences.
    package var usableBelow: UInt64
    /// The highest sequence committed to the log; 0 if the log is empty.
    package var persistedThrough: UInt64
    package var subscriptions: [DurableRecord]
    /// For each subscription, the messages of which the log has copies, in ascending order of sequence.
    package var redeliveries: [DurableID: [Redelivery]] = [:]
    /// For each subscription, the failure of one copy: of the copies with failures, the one that is due last. The time
    /// of the failure is unknown.
    package var failureReasons: [DurableID: (sequence: UInt64, failures: UInt32, reason: String)] = [:]
    package var values = StoredValues()
    /// Whether the log may contain subscriptions that can't be read, besides ``subscriptions``.
    package var isMissingSubscriptions = false
    /// The number and bytes of each user's messages in the log.
    package var usage: [UInt32: StoredUsage]
    /// The names of each user's messages in the log.
    package var names: [UInt32: StoredNameSet]
    /// Whether the last run closed the database cleanly.
    package var wasClosedCleanly: Bool
    /// A problem of the log that does not keep it from being used; nil if there is none.
    package var problem: String?
    /// Whether the disk has a reserve with which messages can be deleted on a full disk.
    package var hasReserve = true
    /// The next id for a durable subscription. This id and higher ones were never assigned.
    package var nextSubscriptionID: DurableID
    /// A random number that changes when a backup replaces the log; 0 if there is no log yet, or if it can't be read.
    package var epoch: UInt64
    /// The reason why nothing can be stored, if it is known from the start.
    package var failure: StorageFailure?

    package init(
        nextSequence: UInt64, usableBelow: UInt64? = nil, persistedThrough: UInt64, subscriptions: [DurableRecord],
        usage: [UInt32: StoredUsage] = [:], names: [UInt32: StoredNameSet] = [:], wasClosedCleanly: Bool,
        nextSubscriptionID: DurableID, epoch: UInt64 = 0
    ) {
        self.nextSequence = nextSequence
        self.usableBelow = usableBelow ?? nextSequence
        self.persistedThrough = persistedThrough
        self.subscriptions = subscriptions
        self.usage = usage
        self.names = names
        self.wasClosedCleanly = wasClosedCleanly
        self.nextSubscriptionID = nextSubscriptionID
        self.epoch = epoch
    }
}
