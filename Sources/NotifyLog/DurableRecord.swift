package import NotifyWire

/// What the log keeps of a durable subscription.
package struct DurableRecord: Equatable, Sendable {
    /// Given by the broker, never reused.
    package var id: UInt32
    package var filter: SubscriptionFilter
    /// Unique per uid.
    package var name: String
    package var progress: DurableProgress

    package init(id: UInt32, filter: SubscriptionFilter, name: String, progress: DurableProgress) {
        self.id = id
        self.filter = filter
        self.name = name
        self.progress = progress
    }
}

/// How far a durable subscription has come.
package struct DurableProgress: Equatable, Sendable {
    /// Every matching message up to this sequence is acknowledged.
    package var cursor: UInt64
    /// Every message up to this sequence may have been seen; later ones certainly were not.
    package var seenThrough: UInt64
    /// Acknowledged beyond the cursor: rising, apart, each above the cursor.
    package var acknowledged: [SequenceRange]
    /// A client holds it. Found set at a start, the last stop was not clean for it, and `seenThrough` is not to be
    /// trusted: all that was stored may have been seen.
    package var isAttached: Bool

    package init(cursor: UInt64, seenThrough: UInt64, acknowledged: [SequenceRange] = [], isAttached: Bool = false) {
        self.cursor = cursor
        self.seenThrough = seenThrough
        self.acknowledged = acknowledged
        self.isAttached = isAttached
    }
}
