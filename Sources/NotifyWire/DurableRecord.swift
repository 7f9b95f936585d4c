package import NotifyCenter

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

/// Sequences `first` through `last`, both included.
package struct SequenceRange: Equatable, Hashable, Sendable {
    package var first: UInt64
    package var last: UInt64

    @inlinable
    package init(first: UInt64, last: UInt64) {
        self.first = first
        self.last = last
    }
}

/// Which messages a subscription is for.
package struct SubscriptionFilter: Equatable, Sendable {
    package var patterns: [NamePattern]
    /// Where set, only messages with an equal object.
    package var object: String?
    /// Whose rights bound what is received.
    package var uid: UInt32

    package init(patterns: [NamePattern], object: String? = nil, uid: UInt32) {
        self.patterns = patterns
        self.object = object
        self.uid = uid
    }

    /// Whether messages of this name are for the subscription, its uid's rights included. Objects are not looked at.
    package func matches(name: UnsafeRawBufferPointer) -> Bool {
        NameRights.mayReceive(name, uid: uid)
            && patterns.contains { $0.matches(utf8: name) && NameRights.isVisible(name, to: $0) }
    }
}
