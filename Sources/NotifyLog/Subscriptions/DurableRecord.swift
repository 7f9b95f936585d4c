package import NotifyWire

/// What the log keeps of a durable subscription.
package struct DurableRecord: Equatable, Sendable {
    package var id: DurableID
    /// Whose rights bound what is received. The name is unique per uid.
    package var owner: Identity
    package var name: String
    package var filter: SubscriptionFilter
    package var progress: DurableProgress

    package init(
        id: DurableID, owner: Identity, name: String, filter: SubscriptionFilter, progress: DurableProgress
    ) {
        self.id = id
        self.owner = owner
        self.name = name
        self.filter = filter
        self.progress = progress
    }
}

/// How far a durable subscription has come.
package struct DurableProgress: Equatable, Sendable {
    /// Every matching message up to this sequence is acknowledged.
    package var cursor: UInt64
    /// Every message up to this sequence may have been seen; later ones certainly were not.
    package var seenThrough: UInt64
    /// Acknowledged above the cursor: rising, apart, each above the cursor.
    package var acknowledged: [SequenceRange]
    /// Counts the resets of the cursor. With the id it identifies what a client remembers of its deliveries.
    package var generation: UInt32
    /// A client is attached. Where this is found at a start, the last stop was unclean, and `seenThrough` is too low: all
    /// that was stored may have been seen.
    package var isAttached: Bool

    package init(
        cursor: UInt64, seenThrough: UInt64, acknowledged: [SequenceRange] = [], generation: UInt32 = 0,
        isAttached: Bool = false
    ) {
        self.cursor = cursor
        self.seenThrough = seenThrough
        self.acknowledged = acknowledged
        self.generation = generation
        self.isAttached = isAttached
    }
}
